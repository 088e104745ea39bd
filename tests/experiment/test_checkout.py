"""Versions of a repository: their files, and that the repository and its working tree stay as they were."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from perfprobe.experiment.checkout import WORK, Repository, check_out, repository
from perfprobe.support.errors import InputError, UsageError
from tests.experiment.repositories import commit, files, git, new, seen


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A working tree with two commits, a submodule that has two as well, and changes of all kinds."""
    new(tmp_path / "library", {"library.py": "VERSION = 1\n"})
    top = tmp_path / "project"
    new(
        top,
        {"train.py": "first\n", "sub/run.py": "run\n", "gone.py": "gone\n", ".gitignore": "data/\n*.log\n"},
    )
    git(top, "submodule", "--quiet", "add", str(tmp_path / "library"), "parts/library")
    (top / "link").symlink_to("train.py")
    commit(top, {}, "with a submodule")
    git(top, "tag", "v1")
    commit(tmp_path / "library", {"library.py": "VERSION = 2\n"})
    git(top / "parts/library", "pull", "--quiet", "origin", "main")
    commit(top, {"train.py": "second\n"})
    (top / "train.py").write_text("changed\n")
    (top / "gone.py").unlink()
    (top / "new file\n.py").write_text("new\n")
    (top / "run.sh").write_text("echo\n")
    (top / "run.sh").chmod(0o755)
    (top / "data").mkdir()
    (top / "data" / "large").write_text("ignored\n")
    (top / "parts/library/extra.py").write_text("extra\n")
    git(top, "add", "run.sh")
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        path = top / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
        path.chmod(0o755)
    return top


def made(tree: Path, ref: str, name: str = "side") -> dict[str, str]:
    """The files of a version; nothing else changes."""
    before, ran = seen(tree), tree.parent / "hook-ran"
    ran.unlink(missing_ok=True)  # the test's own commands ran it
    assert check_out(repository(str(tree)), ref, str(tree.parent / name)) == []
    assert seen(tree) == before
    assert not ran.exists()
    return files(tree.parent / name)


def test_a_version_has_the_files_of_its_commit(tree: Path) -> None:
    first, second = made(tree, "v1"), made(tree, "main", "other")
    assert (first["train.py"], second["train.py"]) == ("first\n", "second\n")
    assert first["parts/library/library.py"] == "VERSION = 1\n"
    assert second["parts/library/library.py"] == "VERSION = 2\n"
    assert (tree.parent / "side/link").readlink() == Path("train.py")
    assert git(tree.parent / "side", "describe", "--tags") == "v1"
    assert git(tree.parent / "side", "status", "--porcelain") == ""


def test_the_working_tree_has_what_is_there_and_not_ignored(tree: Path) -> None:
    found = made(tree, WORK)
    assert found["train.py"] == "changed\n"
    assert found["new file\n.py"] == "new\n"
    assert found["parts/library/extra.py"] == "extra\n"
    assert "gone.py" not in found
    assert "data/large" not in found
    assert os.access(tree.parent / "side/run.sh", os.X_OK)
    assert git(tree.parent / "side", "rev-parse", "HEAD") == git(tree, "rev-parse", "HEAD")


def test_a_detached_head(tree: Path) -> None:
    git(tree, "stash", "--quiet")
    git(tree, "checkout", "--quiet", "--detach", "v1")
    assert made(tree, "HEAD")["train.py"] == "first\n"
    assert made(tree, WORK, "work")["train.py"] == "first\n"
    assert made(tree, "main", "main")["train.py"] == "second\n"


def test_a_commit_that_no_branch_has(tree: Path) -> None:
    lost = git(tree, "rev-parse", "HEAD")
    git(tree, "reset", "--quiet", "--hard", "v1")
    assert made(tree, lost)["train.py"] == "second\n"


def test_a_linked_working_tree(tree: Path) -> None:
    git(tree, "worktree", "add", "--quiet", str(tree.parent / "linked"), "v1")
    before = seen(tree, tree.parent / "linked")
    check_out(repository(str(tree.parent / "linked")), WORK, str(tree.parent / "side"))
    assert files(tree.parent / "side")["train.py"] == "first\n"
    assert seen(tree, tree.parent / "linked") == before


def test_a_submodule_that_was_never_fetched_is_named(tree: Path) -> None:
    shutil.rmtree(tree / "parts/library")
    shutil.rmtree(tree / ".git/modules")
    assert check_out(repository(str(tree)), "v1", str(tree.parent / "side")) == ["parts/library"]


def test_a_submodule_that_is_only_kept_in_git(tree: Path) -> None:
    shutil.rmtree(tree / "parts/library")
    assert made(tree, "v1")["parts/library/library.py"] == "VERSION = 1\n"


def test_inside_a_hook_git_is_told_another_repository(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tree.parent / "library/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tree / ".git/index"))
    assert made(tree, "v1")["train.py"] == "first\n"


def test_where_the_user_is(tree: Path) -> None:
    assert repository(str(tree / "sub")) == Repository(str(tree), "sub")
    with pytest.raises(InputError, match="no working tree of git"):
        repository(str(tree.parent))


@pytest.mark.parametrize("ref", ["nothing", "--all", "v1:train.py", ""])
def test_what_is_no_version(tree: Path, ref: str) -> None:
    with pytest.raises(UsageError, match="no such version"):
        check_out(repository(str(tree)), ref, str(tree.parent / "side"))


def test_a_full_disk_changes_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "train.py")

    before = seen(tree)
    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(OSError, match="No space left"):
        check_out(repository(str(tree)), WORK, str(tree.parent / "side"))
    assert seen(tree) == before
