"""Folders of the user's tree that versions see through a link, such as data that git ignores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from perfprobe.support.errors import InputError, UsageError

Seen = tuple[tuple[str, int, int], ...]


def link(paths: Sequence[str], top: str, side: str) -> None:
    """Links these paths, relative to the root, in a version.

    Raises:
        UsageError: a path is not in the tree, or the version has it already.
    """
    for path in paths:
        target = os.path.join(side, path)
        if os.path.lexists(target):
            raise UsageError("git has what should be linked", path, "leave it out")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(os.path.join(top, path), target)


def checked(paths: Sequence[str], top: str, inside: str) -> list[str]:
    """The paths relative to the root, as typed in a folder inside.

    Raises:
        UsageError: there is no such path in the tree.
    """
    found = []
    for path in paths:
        whole = os.path.normpath(os.path.join(top, inside, path))
        if not whole.startswith(top + os.sep) or not os.path.exists(whole):
            raise UsageError("there is nothing to link in the working tree", path, "name a folder in it")
        found.append(os.path.relpath(whole, top))
    return found


def seen(paths: Iterable[str], top: str) -> Seen:
    """Name, size and time of the last change of everything in these paths."""
    found = []
    for path in paths:
        for folder, names, files in os.walk(os.path.join(top, path)):
            for name in (*names, *files):
                entry = os.path.join(folder, name)
                about = os.lstat(entry)
                found.append((entry, about.st_size, about.st_ctime_ns))
    return tuple(sorted(found))


def check_unchanged(before: Seen, after: Seen) -> None:
    """Raises InputError if something changed: a link cannot keep a program from writing."""
    changed = sorted(set(before) ^ set(after))
    if changed:
        remedy = "its results may differ because of that: let it write elsewhere"
        raise InputError("the program changed what was linked", changed[0][0], remedy)
