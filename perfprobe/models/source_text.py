"""The text of source lines, read when the report is made from the files that the recording names.

A recording may name any file, and files change. Only regular .py files of limited size are read, nothing in
them is run, and `--source` may forbid reading. A file is used only if it was last written before the
recording began, or if it is in the folder that the user named. Secrets of known forms are masked.
"""

from __future__ import annotations

import io
import os
import posixpath
import stat
import tokenize

from perfprobe.support import system
from perfprobe.support.masking.shapes import forms_in, without_forms
from perfprobe.tables.findings import Findings, SourceRule

MOST_BYTES = 4 << 20  # larger files are not read
MOST_BYTES_OF_ALL = 64 << 20
LEAST_BYTES = 16 << 10  # every file counts for at least this much, even a missing one, to bound the search
LONGEST_LINE = 1000  # characters of a line that are kept

# Opening a pipe must not block.
_FLAGS = os.O_RDONLY | system.WITHOUT_WAITING | system.NO_TERMINAL | system.CLOSED_IN_CHILDREN
_MISSING = "source not found here"
_CHANGED = "changed since the recording"
_ELSEWHERE = "not below this folder"
_UNKNOWN = "not known whether it changed since the recording"


class SourceText:
    """Source lines by file; each file is read at most once.

    folder: the program's. below_this_folder: read only files below the current folder, or below the one that
    the user named.
    """

    def __init__(self, findings: Findings, *, below_this_folder: bool = False) -> None:
        trace, recording = findings.trace, findings.trace.recording
        self._rule = findings.source_rule
        if below_this_folder and self._rule.folder is None:
            self._rule = SourceRule(os.curdir, False, _ELSEWHERE)
        self.folder = recording.text("program", "cwd") or ""
        self._bases = [*recording.texts("roots", "script"), self.folder]
        real_ns, then_ns = (recording.number("clock", key) for key in ("realtime_ns", "monotonic_ns"))
        known = real_ns is not None and then_ns is not None and trace.start_ns is not None
        self._start_ns = real_ns + trace.start_ns - then_ns if known else None  # type: ignore[operator]
        self._files: dict[str, list[str] | str] = {}
        self._bytes = 0

    def text(self, file: str, line: int) -> str | None:
        """The text of a line without its newline, None if it cannot be read."""
        lines = self._lines(file)
        return lines[line - 1] if isinstance(lines, list) and 0 < line <= len(lines) else None

    def lines(self, file: str) -> list[str] | None:
        """All lines of a file, None if they cannot be read."""
        lines = self._lines(file)
        return lines if isinstance(lines, list) else None

    def reason(self, file: str) -> str | None:
        """Returns why this file has no text, None if it has."""
        lines = self._lines(file)
        return lines if isinstance(lines, str) else None

    def _lines(self, file: str) -> list[str] | str:
        if file not in self._files:
            self._bytes += LEAST_BYTES
            try:
                self._files[file] = self._allowed(posixpath.join(self.folder, file))
            except (OSError, ValueError, LookupError):
                self._files[file] = _MISSING
        return self._files[file]

    def _allowed(self, path: str) -> list[str] | str:
        rule = self._rule
        if rule.folder is None:
            return self._read(path)
        if not rule.folder:
            return rule.refused
        folder = os.path.realpath(rule.folder)
        for candidate in [path, *(self._moved(path, folder) if rule.is_given else ())]:
            real = os.path.realpath(candidate)
            if real.startswith(os.path.join(folder, "")) and os.path.exists(real):
                return self._read(real)
        return rule.refused or _MISSING

    def _moved(self, path: str, folder: str) -> list[str]:
        """Returns where a file of the program would be if `folder` were the program's folder."""
        bases = [base.rstrip("/") + "/" for base in self._bases if base.startswith("/")]
        return [os.path.join(folder, path[len(base) :]) for base in bases if path.startswith(base)]

    def _read(self, path: str) -> list[str] | str:
        if not path.endswith(".py") or self._bytes > MOST_BYTES_OF_ALL:
            return _MISSING
        descriptor = os.open(path, _FLAGS)
        with os.fdopen(descriptor, "rb") as opened:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_BYTES:
                return _MISSING
            doubt = None if self._rule.is_given else self._doubt(facts.st_mtime_ns)
            if doubt is not None:
                return doubt
            self._bytes += facts.st_size
            return _decoded(opened.read(MOST_BYTES))

    def _doubt(self, written_ns: int) -> str | None:
        if self._start_ns is None:
            return _UNKNOWN
        return _CHANGED if written_ns > self._start_ns else None


def _decoded(data: bytes) -> list[str]:
    """The lines as Python would read them; invalid bytes are replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        encoding = "utf-8"
    text = io.TextIOWrapper(io.BytesIO(data), encoding, errors="replace")
    lines = [line.rstrip("\n")[:LONGEST_LINE] for line in text]
    forms = forms_in("\n".join(lines))
    return [without_forms(line, forms) for line in lines] if forms else lines
