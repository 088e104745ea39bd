"""Finds the C++ compiler, without starting it."""

from __future__ import annotations

import os
from _blake2 import blake2b

_NAMES = ("g++", "c++", "clang++")


class Compiler:
    """A compiler. words: of its command, with options; path: of the program."""

    def __init__(self, words: list[str], path: str) -> None:
        self.words = words
        self.path = path

    def faster(self) -> list[str]:
        """Returns options with which it takes less time: g++ would look for garbage too often."""
        name = os.path.basename(self.path)
        is_gcc = name.startswith("g++") or name.endswith("-g++")
        return ["--param=ggc-min-heapsize=1572864"] if is_gcc else []

    def identity(self) -> str:
        """Returns 8 hexadecimal digits that change with the compiler, its version and its options."""
        path = os.path.realpath(self.path)
        status = os.stat(path)
        text = "\0".join([path, str(status.st_size), str(status.st_mtime_ns), *self.words[1:]])
        return str(blake2b(text.encode(errors="surrogateescape"), digest_size=4).hexdigest())


def find() -> Compiler | None:
    """Returns the compiler in CXX, else the first of g++, c++ and clang++ on PATH; None if there is none."""
    named = os.environ.get("CXX", "").split()
    for words in [named] if named else [[name] for name in _NAMES]:
        path = _which(words[0])
        if path is not None:
            return Compiler(words, path)
    return None


def _which(name: str) -> str | None:
    folders = [""] if os.sep in name else os.environ.get("PATH", "").split(os.pathsep)
    for path in (os.path.join(folder, name) for folder in folders):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


# By package manager: the command that installs a compiler and the headers of the system's Python.
_PACKAGES = {
    "apt-get": "apt-get install g++ python3-dev",
    "dnf": "dnf install gcc-c++ python3-devel",
    "zypper": "zypper install gcc-c++ python3-devel",
    "pacman": "pacman -S gcc",
    "apk": "apk add g++ python3-dev",
    "conda": "conda install -c conda-forge gxx",
}
NEEDED = "g++ 11 or newer, and the headers of this Python (Python.h)"


def remedy() -> str:
    """Returns how to install a compiler and Python's headers."""
    for tool, command in _PACKAGES.items():
        if _which(tool) is not None:
            by_root = tool == "conda" or os.geteuid() == 0
            return f"install one with `{'' if by_root else 'sudo '}{command}`"
    return f"install {NEEDED}"
