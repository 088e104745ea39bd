"""Finds the torch that a program will import, from its files, without importing it."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_VERSION = re.compile(rb"(?m)^__version__\s*=\s*['\"]([^'\"]+)")
_NEW_ABI = re.compile(rb"_ZN3c10\w*NSt7__cxx1112basic_string")  # a symbol, as in csrc/find_torch.py


class TorchThere:
    """An installed torch.

    Attributes:
        folder: of the package.
        version: `torch.__version__`, such as 2.13.0+cpu.
    """

    def __init__(self, folder: str, version: str) -> None:
        self.folder = folder
        self.version = version

    def cxx11_abi(self) -> int:
        """Returns torch's _GLIBCXX_USE_CXX11_ABI; 1 if its library is not found."""
        try:
            with open(os.path.join(self.folder, "lib", "libc10.so"), "rb") as file:
                return int(_NEW_ABI.search(file.read()) is not None)
        except OSError:
            return 1


def find(entries: Iterable[str]) -> TorchThere | None:
    """Returns the torch found by these entries of sys.path; None if there is none or a module hides it."""
    for entry in entries:
        folder = os.path.join(entry, "torch")
        version = _version(folder)
        if version is not None:
            return TorchThere(os.path.abspath(folder), version)
        if os.path.isfile(f"{folder}.py") or os.path.isfile(os.path.join(folder, "__init__.py")):
            return None
    return None


def at(folder: str) -> TorchThere | None:
    """Returns the torch in this package folder; None if it is not a torch."""
    version = _version(folder)
    return None if version is None else TorchThere(os.path.abspath(folder), version)


def _version(folder: str) -> str | None:
    try:
        with open(os.path.join(folder, "version.py"), "rb") as file:
            match = _VERSION.search(file.read())
    except OSError:
        return None
    return None if match is None else match[1].decode(errors="replace")
