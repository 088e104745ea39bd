"""Subjects of commits: which are checked, and which are refused."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_release import script

Commit = Callable[[str], None]
check = script("commits").main
LONG = "x" * 73


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def commit(tmp_path: Path) -> Commit:
    git(tmp_path, "init", "--initial-branch=main")
    return lambda message: git(tmp_path, "commit", "--allow-empty", "--message", message)


def test_a_subject_may_have_72_letters(commit: Commit, tmp_path: Path) -> None:
    commit(LONG[:72] + f"\n\n{LONG}{LONG}")
    assert check([], tmp_path) == 0


def test_a_longer_one_is_named(commit: Commit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(LONG)
    assert check([], tmp_path) == 1
    assert LONG in capsys.readouterr().err


def test_a_second_line_belongs_to_the_subject(commit: Commit, tmp_path: Path) -> None:
    commit("what\n" + LONG)
    assert check([], tmp_path) == 1


def test_only_what_the_base_lacks_is_checked(commit: Commit, tmp_path: Path) -> None:
    commit(LONG)
    git(tmp_path, "branch", "base")
    commit("short")
    assert check([], tmp_path) == 0
    assert check(["base"], tmp_path) == 0
    commit(LONG)
    commit("short")
    assert check([], tmp_path) == 0
    assert check(["base"], tmp_path) == 1
    git(tmp_path, "branch", "--set-upstream-to=base")
    assert check([], tmp_path) == 1


def test_a_merge_may_have_any_subject(commit: Commit, tmp_path: Path) -> None:
    commit("base")
    git(tmp_path, "checkout", "-b", "other")
    commit("other")
    git(tmp_path, "checkout", "main")
    git(tmp_path, "merge", "--no-ff", "--message", LONG, "other")
    assert check([], tmp_path) == 0


def test_a_folder_without_commits_has_none_that_is_wrong(tmp_path: Path) -> None:
    assert check([], tmp_path) == 0
