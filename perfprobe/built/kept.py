"""The user's cache of observers: one file for each, named by all that it depends on.

A file is
`$XDG_CACHE_HOME/perfprobe/observer/SOURCE-cpython-311-x86_64-linux-gnu-torch2.13.0+cpu-abi1-COMPILER.so`.
Beside it there is `.failed` if compiling failed, and `.lock` while a process compiles. These files are run as
code, so nobody else may be able to write them.
"""

from __future__ import annotations

import os
import re
from _imp import extension_suffixes

from perfprobe.built import compiler, source
from perfprobe.support import user_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.built.torch_there import TorchThere

_BY_OTHERS = 0o022  # writable by the group, or by everybody


def folder() -> str:
    """Returns the folder of the observers, which need not exist."""
    return os.path.join(user_cache.folder(), "observer")


def stem(sources: str, torch: TorchThere) -> str:
    """Returns the name for this source, Python and torch, without the part for the compiler."""
    python = extension_suffixes()[0].strip(".").removesuffix(".so")
    version = re.sub(r"[^\w.+]", "_", torch.version, flags=re.ASCII)
    return f"{source.digest(sources)}-{python}-torch{version}-abi{torch.cxx11_abi()}"


def find(torch: TorchThere) -> str | None:
    """Returns the path of an observer for this torch; None if there is none.

    An observer of another compiler is only used if no compiler is found, so that it could not be built again.
    """
    sources = source.folder()
    if sources is None or not _is_ours(folder()):
        return None
    name, made_by = stem(sources, torch), compiler.find()
    if made_by is not None:
        path = os.path.join(folder(), f"{name}-{made_by.identity()}.so")
        return path if _is_ours(path) else None
    for found in sorted(os.listdir(folder())):
        path = os.path.join(folder(), found)
        if found.startswith(f"{name}-") and found.endswith(".so") and _is_ours(path):
            return path
    return None


def refused(path: str) -> str | None:
    """Returns why this file is not trusted; None if it is trusted or does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if status.st_mode & _BY_OTHERS:
        return "others may write into it"
    return None


def _is_ours(path: str) -> bool:
    return os.path.exists(path) and refused(path) is None
