"""Lines of the program, as all views of a page name them: `train.py:58`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.page.packed import shown
from perfprobe.tables.columns import Int32, distinct
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure, Origin
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Trace

_LONGEST_NAME = 200


class Places:
    """Lines by number, each file and line once, of one recording or of two that are compared."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int], Line] = {}
        self._numbers: dict[tuple[str, int], int] = {}

    def number(self, line: Line | None) -> int:
        """The number of a line, -1 for none."""
        if line is None:
            return -1
        key = (line.file, line.line)
        self._lines.setdefault(key, line)
        return self._numbers.setdefault(key, len(self._numbers))

    def of_frames(self, trace: Trace, frames: Int32) -> list[int]:
        """The number of each frame's line, -1 for none."""
        known = {frame: self.number(trace.line(frame)) for frame in distinct(frames).tolist()}
        return [known[frame] for frame in frames.tolist()]

    def all(self) -> Sequence[dict[str, Any]]:
        """Each with the short name of its file, line and function, in the order of their numbers."""
        names = shorten.file_names(list({shown(file, _LONGEST_NAME) for file, _ in self._lines}))
        return [
            {
                "name": names[shown(line.file, _LONGEST_NAME)],
                "line": line.line,
                "function": shown(line.function, _LONGEST_NAME),
            }
            for line in self._lines.values()
        ]


def own_files(findings: Findings) -> set[str]:
    """The program's own files, by what was recorded of Python."""
    structure, strings = findings.get(CallStructure), findings.trace.recording[Strings]
    if structure is None:
        return set()
    code = structure.python.code
    return {strings[file] for file in code.file[code.origin == Origin.USER].tolist() if file >= 0}
