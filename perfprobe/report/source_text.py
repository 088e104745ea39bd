"""The text of source lines, read when the report is made from the files that the recording names.

A recording may name any file, and files change. Only a regular, not too large file that ends in .py is read,
nothing in it is run, and it is believed only if it was last written before the recording began.
"""

from __future__ import annotations

import io
import os
import posixpath
import stat
import tokenize

from perfprobe.tables.trace import Trace

MOST_BYTES = 4 << 20  # of a file
MOST_BYTES_OF_ALL = 64 << 20
LEAST_BYTES = 16 << 10  # that any file counts as, even a missing one: it bounds how many are looked for
LONGEST_LINE = 1000  # letters kept

_MISSING = "source not here"
_CHANGED = "changed since the recording"
_UNKNOWN = "not known whether it changed since the recording"


class SourceText:
    """Source lines by file; each file is read at most once."""

    def __init__(self, trace: Trace) -> None:
        recording = trace.recording
        self._folder = recording.text("program", "cwd") or ""
        real_ns, then_ns = (recording.number("clock", key) for key in ("realtime_ns", "monotonic_ns"))
        known = real_ns is not None and then_ns is not None and trace.start_ns is not None
        self._start_ns = real_ns + trace.start_ns - then_ns if known else None  # type: ignore[operator]
        self._files: dict[str, list[str] | str] = {}
        self._bytes = 0

    def text(self, file: str, line: int) -> str | None:
        """The text of a line without its newline, None where it cannot be had."""
        lines = self._lines(file)
        return lines[line - 1] if isinstance(lines, list) and 0 < line <= len(lines) else None

    def reason(self, file: str) -> str | None:
        """Why there is no text of this file, None where there is."""
        lines = self._lines(file)
        return lines if isinstance(lines, str) else None

    def _lines(self, file: str) -> list[str] | str:
        if file not in self._files:
            self._bytes += LEAST_BYTES
            try:
                self._files[file] = self._read(posixpath.join(self._folder, file))
            except (OSError, ValueError, LookupError):
                self._files[file] = _MISSING
        return self._files[file]

    def _read(self, path: str) -> list[str] | str:
        if not path.endswith(".py") or self._bytes > MOST_BYTES_OF_ALL:
            return _MISSING
        # Opening a pipe must not wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_BYTES:
                return _MISSING
            if self._start_ns is None:
                return _UNKNOWN
            if facts.st_mtime_ns > self._start_ns:
                return _CHANGED
            self._bytes += facts.st_size
            return _decoded(opened.read(MOST_BYTES))


def _decoded(data: bytes) -> list[str]:
    """The lines as Python would read them; what does not fit the encoding is replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        encoding = "utf-8"
    text = io.TextIOWrapper(io.BytesIO(data), encoding, errors="replace")
    return [line.rstrip("\n")[:LONGEST_LINE] for line in text]
