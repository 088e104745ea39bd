"""Finds the observer's source: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

import os
import re
from _blake2 import blake2b  # importing hashlib would hide a module of the program with that name

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UNIT = "observer_unit.cpp"
LIGHT = "torch/light"  # a folder of headers that replace large ones of torch
_LIGHT_HEADERS = (f"{LIGHT}/ATen/ATen.h",)
_INCLUDED = re.compile(rb'^#include "([^"]+)"', re.MULTILINE)
_digests: dict[str, str] = {}


def folder() -> str | None:
    """Returns the folder `csrc`; None if it is missing."""
    for home in (_PACKAGE, os.path.dirname(_PACKAGE)):
        path = os.path.join(home, "csrc")
        if os.path.isfile(os.path.join(path, UNIT)):
            return path
    return None


def files(source: str) -> list[str]:
    """Returns all source files that the compiler reads, relative to the folder, in a fixed order."""
    return list(_read(source))


def digest(source: str) -> str:
    """Returns 16 hexadecimal digits that change with any of these files."""
    if source not in _digests:
        made = blake2b(digest_size=8)
        for name, content in _read(source).items():
            made.update(b"%s\0%d\0%s" % (name.encode(), len(content), content))
        _digests[source] = made.hexdigest()
    return _digests[source]


def _read(source: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    waiting = [UNIT, *_LIGHT_HEADERS]
    while waiting:
        name = waiting.pop()
        if name not in found:
            with open(os.path.join(source, name), "rb") as file:
                found[name] = file.read()
            waiting += [included.decode() for included in _INCLUDED.findall(found[name])]
    return found
