"""The names of functions and places in a call graph: short, and without the folders of this machine."""

from __future__ import annotations

import os
import re

from perfprobe.report import shorten
from perfprobe.support.first_line import bare
from perfprobe.support.text import printable
from perfprobe.tables.python import CallStructure
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

LONGEST_NAME = 48
_LONGEST_FILE = 28
_MOST_FOLDERS = 4
_LIBRARIES = re.compile(r".*/(?:site-packages|dist-packages|python3\.\d+)/")
_MODULE = "<module>"
# cProfile's names of C functions.
_METHOD = re.compile(r"^<method '([^']+)' of '(?:[^']*\.)?([^'.]+)' objects>$")
_BUILT_IN = re.compile(r"^<built-in method (?:builtins\.)?([\w.]+)>$")


class Names:
    """Titles and places of functions, and lines of operators, for a graph with these functions."""

    def __init__(self, trace: Trace, structure: CallStructure, codes: list[int], frames: list[int]) -> None:
        """codes: rows of `Code`. frames: those of lines."""
        self._strings, self._code = trace.recording[Strings], structure.python.code
        lines = {frame: line for frame in frames if (line := trace.line(frame)) is not None}
        self._lines = {frame: (printable(line.file), line.line) for frame, line in lines.items()}
        files = {self._file(code) for code in codes} | {file for file, _ in self._lines.values()}
        self._short = {file: _short(file, name) for file, name in shorten.file_names([*files]).items()}
        argv = trace.recording.texts("program", "argv")
        self._main = os.path.basename(printable(argv[0])) if argv else ""

    def title(self, code: int, is_outermost: bool) -> str:
        """The name of a function; of a module's code the script, or `import torch`."""
        name, file = printable(bare(self._strings[self._code.function[code]])), self._file(code)
        if self._code.file[code] < 0:
            return _METHOD.sub(r"\2.\1", _BUILT_IN.sub(r"\1", name))
        if name != _MODULE:
            return name.replace(".<locals>", "")
        is_script = is_outermost or os.path.basename(file) == self._main
        return self._short[file] if is_script or not file.endswith(".py") else f"import {self._module(file)}"

    def place(self, code: int) -> str:
        """File and first line of a function; "" for a C function and a module, whose title has its file."""
        if self._code.file[code] < 0 or bare(self._strings[self._code.function[code]]) == _MODULE:
            return ""
        line = f":{self._code.first_line[code]}" if self._code.first_line[code] > 0 else ""
        return cut_start(f"{self._short[self._file(code)]}{line}", _LONGEST_FILE)

    def line(self, frame: int, code: int) -> str:
        """The line of an operator: `:12` if it is in the file of this function, else `train.py:12`."""
        if frame not in self._lines:
            return ""
        file, line = self._lines[frame]
        is_here = code >= 0 and file == self._file(code)
        return f":{line}" if is_here else cut_start(f"{self._short[file]}:{line}", _LONGEST_FILE)

    def _file(self, code: int) -> str:
        return printable(self._strings[self._code.file[code]])

    def _module(self, file: str) -> str:
        path = _LIBRARIES.sub("", file)
        path = (path if path != file else self._short[file]).removesuffix(".py").removesuffix("/__init__")
        return path.strip("/").replace("/", ".")


def cut_start(text: str, width: int) -> str:
    """The end of the text, in at most `width` letters."""
    return text if len(text) <= width else shorten.ELLIPSIS + text[1 - width :]


def _short(file: str, name: str) -> str:
    """The name, without most folders; a package's `__init__.py` gets its folder."""
    if name == "__init__.py":
        return "/".join(file.split("/")[-2:]).strip("/")
    return "/".join(name.split("/")[-_MOST_FOLDERS:]).strip("/") or name
