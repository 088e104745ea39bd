"""The folder `.perfprobe/` in the current folder, for recordings that the user did not name.

It is made with the first recording, with a `.gitignore` that hides what is in it from git. Only the history
of versions is not hidden: it is small, and may be committed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

FOLDER = ".perfprobe"
IGNORING = ".gitignore"
HISTORY = "history.jsonl"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def is_in_own_folder(path: str) -> bool:
    """Whether this is the path of a file in such a folder."""
    return os.path.basename(os.path.dirname(path)) == FOLDER


def make_folder_of(path: str) -> None:
    """Makes the folder of this recording if it is missing.

    Raises:
        OSError: it cannot be made, or there is a file or a link in its place: another user may have planted
            a link that leads elsewhere.
    """
    folder = os.path.dirname(path)
    try:
        os.mkdir(folder)
    except FileExistsError:
        found = os.lstat(folder).st_mode
        if not stat.S_ISDIR(found):
            kind = "link" if stat.S_ISLNK(found) else "file"
            raise NotADirectoryError(errno.ENOTDIR, f"{FOLDER} is a {kind}, not a folder", folder) from None
        return
    with contextlib.suppress(OSError):  # the recording will say that nothing can be written
        _ignore_content(folder)


def remove_recording(path: str) -> None:
    """Removes the recording of a program that did not start, and its folder if that is empty now.

    Nothing is removed if it had children: then some of it did run.
    """
    if os.path.exists(os.path.splitext(path)[0] + "-children"):
        return
    with contextlib.suppress(OSError):
        os.unlink(path)
    if is_in_own_folder(path):
        remove_if_empty(os.path.dirname(path))


def remove_if_empty(folder: str) -> None:
    """Removes the folder `.perfprobe/` if nothing but its `.gitignore` is in it."""
    with contextlib.suppress(OSError):
        if os.path.islink(folder) or os.listdir(folder) not in ([], [IGNORING]):
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, IGNORING))
        try:
            os.rmdir(folder)
        except OSError:  # another run wrote into it just now
            _ignore_content(folder)


def _ignore_content(folder: str) -> None:
    with open(os.open(os.path.join(folder, IGNORING), _NEW, 0o666), "wb") as file:
        file.write(f"*\n!{HISTORY}\n".encode())
