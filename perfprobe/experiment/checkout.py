"""A version of a git repository in a folder of its own. The repository and its working tree are only read."""

from __future__ import annotations

import os
import shutil
import stat

from perfprobe.experiment.git import git
from perfprobe.support.errors import InputError, UsageError
from perfprobe.support.frozen import frozen

WORK = "WORK"  # the working tree, as it is
_SUBMODULE = b"160000"
# Objects are shared, not copied, and no template adds hooks.
_CLONE = ("clone", "--quiet", "--shared", "--no-checkout", "--template=")


@frozen
class Repository:
    """Where the user is. top: the root of the working tree. inside: the current folder below it."""

    top: str
    inside: str

    def commit(self, ref: str) -> str:
        """The commit that a version names.

        Raises:
            UsageError: there is none.
        """
        try:
            words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
            return git(words, self.top).decode().strip()
        except InputError as error:
            raise UsageError(
                "there is no such version", ref, f"name a branch, a tag or a commit, or {WORK}"
            ) from error


def repository(folder: str) -> Repository:
    """The repository around a folder.

    Raises:
        InputError: there is none.
    """
    refused = "this is no working tree of git"
    top = os.fsdecode(git(("rev-parse", "--show-toplevel"), folder, refused)).rstrip("\n")
    inside = os.fsdecode(git(("rev-parse", "--show-prefix"), folder, refused)).rstrip("\n")
    return Repository(os.path.realpath(top), inside.rstrip("/"))


def check_out(source: Repository, ref: str, folder: str) -> list[str]:
    """Makes this version in a new folder; returns submodules that it lacks, because there is no local copy.

    Raises:
        InputError: git cannot make it.
        OSError: a file cannot be copied.
    """
    if ref == WORK:
        _copy_working_tree(source.top, folder)
        return []
    return _check_out(source.top, source.commit(ref), folder)


def _check_out(source: str, commit: str, folder: str) -> list[str]:
    _clone(source, folder)
    git(("checkout", "--quiet", "--detach", commit), folder, "the version cannot be checked out")
    missing = []
    for path, commit_inside in _submodules(folder, commit):
        copy = _local_copy(source, path)
        if copy is None:
            missing.append(path)
            continue
        inside = _check_out(copy, commit_inside, os.path.join(folder, path))
        missing += [os.path.join(path, each) for each in inside]
    return missing


def _clone(source: str, folder: str) -> None:
    git(
        (*_CLONE, "--", source, folder),
        os.path.dirname(folder) or os.curdir,
        "the repository cannot be cloned",
    )


def _submodules(folder: str, commit: str) -> list[tuple[str, str]]:
    """Path and commit of each."""
    found = []
    for entry in git(("ls-tree", "-r", "-z", "--full-tree", commit), folder).split(b"\0"):
        about, _, path = entry.partition(b"\t")
        if about.startswith(_SUBMODULE):
            found.append((os.fsdecode(path), about.split()[2].decode()))
    return found


def _local_copy(source: str, path: str) -> str | None:
    """The submodule's repository in the user's working tree, else the one kept in .git."""
    checked_out = os.path.join(source, path)
    if os.path.exists(os.path.join(checked_out, ".git")):
        return checked_out
    kept = os.fsdecode(git(("rev-parse", "--git-path", f"modules/{path}"), source)).rstrip("\n")
    kept = os.path.join(source, kept)
    return kept if os.path.isdir(kept) else None


def _copy_working_tree(source: str, folder: str) -> None:
    """Clones the last commit, and instead of its files copies those that are there and not ignored."""
    _clone(source, folder)
    git(("update-ref", "--no-deref", "HEAD", git(("rev-parse", "HEAD"), source).decode().strip()), folder)
    git(("read-tree", "HEAD"), folder)
    listed = git(("ls-files", "-z", "--cached", "--others", "--exclude-standard"), source)
    for name in dict.fromkeys(os.fsdecode(each).rstrip("/") for each in listed.split(b"\0") if each):
        _copy(os.path.join(source, name), os.path.join(folder, name))


def _copy(source: str, target: str) -> None:
    """Copies a file, a link, or a repository inside; what was deleted or is no file is left out."""
    try:
        mode = os.lstat(source).st_mode
    except FileNotFoundError:
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISREG(mode):
        shutil.copy2(source, target)
    elif stat.S_ISDIR(mode) and os.path.exists(os.path.join(source, ".git")):
        _copy_working_tree(source, target)
    elif stat.S_ISDIR(mode):  # a submodule that is not checked out
        os.makedirs(target, exist_ok=True)
