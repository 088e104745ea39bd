"""The folder with the sockets of programs that wait for `perfprobe trigger`; private to this user."""

from __future__ import annotations

import os
from os import geteuid, lstat, mkdir

from perfprobe.support.errors import EnvironmentLack

_DIRECTORY = 0o040000
_SOCKET = 0o140000
_KIND = 0o170000
_KIND_AND_RIGHTS = 0o170777
_PRIVATE = _DIRECTORY | 0o700


def folder() -> str:
    """The path of the folder, which need not exist: `$XDG_RUNTIME_DIR/perfprobe` or `/tmp/perfprobe-UID`."""
    home = os.environ.get("XDG_RUNTIME_DIR", "")
    return os.path.join(home, "perfprobe") if os.path.isabs(home) else f"/tmp/perfprobe-{geteuid()}"


def socket_of(pid: int) -> str:
    """The path of the socket of the program with this PID. It exists only if the program waits."""
    return os.path.join(folder(), f"{pid}.socket")


def found_socket_of(pid: int) -> str | None:
    """The same path as another process of this user finds it: the program may have another environment.

    A shell and a job of cron or of a container differ in `$XDG_RUNTIME_DIR`. None if there is no socket.

    Raises:
        EnvironmentLack: another user may have put the only socket there.
    """
    user = geteuid()
    others = (f"/run/user/{user}/perfprobe", f"/tmp/perfprobe-{user}")
    paths = [socket_of(pid), *(os.path.join(other, f"{pid}.socket") for other in others)]
    found = [path for path in paths if os.path.lexists(path)]
    own = [path for path in found if _is_private(os.path.dirname(path)) and _is_own_socket(path)]
    if found and not own:
        where = f"{found[0]} or its folder is not of this user alone"
        raise EnvironmentLack("the process is not asked", where, "remove it, or set XDG_RUNTIME_DIR")
    return own[0] if own else None


def _is_own_socket(path: str) -> bool:
    found = lstat(path)
    return found.st_uid == geteuid() and found.st_mode & _KIND == _SOCKET


def _is_private(path: str) -> bool:
    found = lstat(path)
    return found.st_uid == geteuid() and found.st_mode & _KIND_AND_RIGHTS == _PRIVATE


def made() -> str:
    """Create the folder if it is missing, and check that no other user can enter it. Returns its path.

    Raises:
        EnvironmentLack: it cannot be created, or another user owns it.
    """
    path = folder()
    try:
        mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise EnvironmentLack("nothing can be triggered", f"{path}: {error.strerror}") from error
    if not _is_private(path):
        where = f"{path} is no folder of this user alone"
        raise EnvironmentLack("nothing can be triggered", where, "remove it, or set XDG_RUNTIME_DIR")
    return path
