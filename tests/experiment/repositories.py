"""Repositories of git for tests, and everything that can be seen of a folder."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

_WHO = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(folder: Path, *words: str) -> str:
    """What git prints."""
    environment = {**os.environ, **_WHO}
    command = ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def commit(folder: Path, files: dict[str, str], message: str = "change") -> str:
    """Writes and commits files; returns the commit."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def new(folder: Path, files: dict[str, str]) -> str:
    """A repository with these files; returns its first commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    return commit(folder, files)


def seen(*folders: Path) -> dict[str, tuple[object, ...]]:
    """Name, kind, mode, size, time of the last change and content of everything in the folders."""
    found: dict[str, tuple[object, ...]] = {}
    for top in folders:
        for place, names, files in os.walk(top):
            for path in (Path(place), *(Path(place, name) for name in (*names, *files))):
                found[str(path)] = _about(path)
    return found


def _about(path: Path) -> tuple[object, ...]:
    about = path.lstat()
    if path.is_symlink():
        content = os.readlink(path)
    else:
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return about.st_mode, about.st_size if path.is_file() else 0, about.st_mtime_ns, content


def files(folder: Path) -> dict[str, str]:
    """The text of each file below a folder, without git's."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
