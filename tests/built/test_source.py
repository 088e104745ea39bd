"""The observer's source is complete in a wheel: what CMake installs covers all that the compiler reads."""

import re
from pathlib import Path

from perfprobe.built import source

CSRC = Path(__file__).resolve().parent.parent.parent / "csrc"
# Folders whose headers csrc/CMakeLists.txt installs, besides all that the unit itself includes.
HEADERS = ("bindings", "core", "python", "torch")


def test_cmake_installs_the_headers_of_these_folders() -> None:
    rule = re.search(r"foreach\(folder ([\w ]+)\)\s+file\(GLOB", (CSRC / "CMakeLists.txt").read_text())
    assert rule is not None
    assert tuple(rule[1].split()) == HEADERS


def test_every_source_is_included_by_the_unit_or_a_header_of_these_folders() -> None:
    included = re.findall(r'^#include "([^"]+)"', (CSRC / source.UNIT).read_text(), re.MULTILINE)
    read = source.files(str(CSRC))
    installed = [
        name
        for name in read
        if name == source.UNIT
        or name in included
        or (name.endswith(".h") and name.count("/") == 1 and name.split("/")[0] in HEADERS)
    ]
    assert "python/frame_values.cpp" in read
    assert installed == read
