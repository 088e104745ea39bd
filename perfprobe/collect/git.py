"""Finds the commit of the program's folder from git's files, without running git."""

from __future__ import annotations

import os


def head(folder: str) -> dict[str, str] | None:
    """Returns `commit` and `branch` (omitted if detached) of the repository of a folder; None without one."""
    git = _git_folder(folder)
    if git is None:
        return None
    text = _line(f"{git}/HEAD") or ""
    if not text.startswith("ref: "):
        return {"commit": text} if _is_commit(text) else None
    reference = text.removeprefix("ref: ").strip()
    commit = _commit(git, reference)
    if commit is None:
        return None
    return {"commit": commit, "branch": reference.removeprefix("refs/heads/")}


def _git_folder(folder: str) -> str | None:
    """Returns the `.git` folder above `folder`. In a worktree or submodule `.git` is a file that names it."""
    above = os.path.abspath(folder)
    while True:
        git = os.path.join(above, ".git")
        if os.path.isdir(git):
            return git
        line = _line(git)
        if line is not None and line.startswith("gitdir:"):
            return os.path.join(above, line.removeprefix("gitdir:").strip())
        if os.path.dirname(above) == above:
            return None
        above = os.path.dirname(above)


def _commit(git: str, reference: str) -> str | None:
    # A worktree has its own HEAD. Its branches are in the folder that `commondir` names.
    common = os.path.join(git, _line(f"{git}/commondir") or ".")
    for folder in (git, common):
        commit = _line(f"{folder}/{reference}")
        if _is_commit(commit):
            return commit
    return _packed(common, reference)


def _packed(common: str, reference: str) -> str | None:
    try:
        with open(f"{common}/packed-refs", encoding="utf-8", errors="replace") as file:
            for line in file:
                commit, _, name = line.strip().partition(" ")
                if name == reference and _is_commit(commit):
                    return commit
    except OSError:
        return None
    return None


def _is_commit(text: str | None) -> bool:
    return text is not None and len(text) in (40, 64) and all(sign in "0123456789abcdef" for sign in text)


def _line(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return None
