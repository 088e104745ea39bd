"""Time for `go tool pprof`, Pyroscope, Parca and others: a profile.proto, compressed by gzip.

The fields are those of https://github.com/google/pprof/blob/main/proto/profile.proto. Functions and operators
are locations, the leaf first. Each sample has labels: thread; and for operators phase, operator, signature.
"""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report import shorten
from perfprobe.report.export.exported import Exported, joined
from perfprobe.report.export.flames import Flames, Paths, Steps
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase

KINDS = (CallStructure,)

_BYTES = 2  # the kind of a field that has a length
# Numbers of fields.
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING = 1, 2, 4, 5, 6
_DURATION, _COMMENT, _DEFAULT_TYPE = 10, 13, 14


def exported(findings: Findings, chosen: str | None = None) -> Exported:
    """The file, and notes about it. `chosen` is ignored: the findings have the time that was asked for.

    Raises:
        InputError: there are no stacks with times.
    """
    flames = Flames(findings)
    paths = flames.paths()
    steps = flames.sum_up()
    has_path = paths.lengths()[steps.row] > 0
    without_ns = int(steps.time_ns[~has_path].sum())
    steps = Steps(steps.thread[has_path], steps.row[has_path], steps.time_ns[has_path])
    made = _Profile(findings, flames, paths).messages(steps)
    return Exported(joined(made, b""), flames.notes(without_ns))


class _Profile:
    """Writes a profile, field by field. Its texts come last, when all of them are known."""

    def __init__(self, findings: Findings, flames: Flames, paths: Paths) -> None:
        self._trace, self._flames, self._paths = findings.trace, flames, paths
        self._texts: dict[str, int] = {"": 0}

    def messages(self, steps: Steps) -> Iterator[bytes]:
        """The fields of the profile, with a sample for each of the steps."""
        yield _field(_SAMPLE_TYPE, _number(1, self._text("time")), _number(2, self._text("nanoseconds")))
        yield _number(_DEFAULT_TYPE, self._text("time"))
        yield _number(_COMMENT, self._text(" ".join(self._trace.recording.texts("program", "argv"))))
        yield _number(_DURATION, sum(steps.time_ns.tolist()))
        labels = _Labels(self)
        for thread, row, time_ns in zip(*(column.tolist() for column in steps), strict=True):
            places = b"".join(_varint(frame + 1) for frame in reversed(self._paths[row]))
            values = _field(1, places), _field(2, _varint(time_ns))
            yield _field(_SAMPLE, *values, labels.of(thread, row))
        yield from self._places()
        yield from (_field(_STRING, text.encode("utf-8", "replace")) for text in self._texts)

    def _places(self) -> Iterator[bytes]:
        """A location and a function for each frame, both with its number."""
        for number, frame in enumerate(self._flames.frames, 1):
            line = _number(2, frame.line or 0)
            yield _field(_LOCATION, _number(1, number), _field(4, _number(1, number), line))
            name, file = self._text(frame.name), self._text(frame.file or "")
            yield _field(
                _FUNCTION, _number(1, number), _number(2, name), _number(4, file), _number(5, frame.line or 0)
            )

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def label(self, key: str, text: str) -> bytes:
        """A label of a sample; nothing for an empty text."""
        return _field(3, _number(1, self._text(key)), _number(2, self._text(text))) if text else b""

    def thread(self, thread: int) -> str:
        """The name of a thread."""
        return self._flames.thread(thread)

    def operator(self, row: int) -> tuple[str, str, str]:
        """Name, inputs and phase of the operator of a row; empty without one."""
        rows = self._flames.rows
        strings, name = self._trace.recording[Strings], int(rows.name[row])
        if name < 0:
            return "", "", ""
        text = ".".join(filter(None, (strings[name], strings[int(rows.overload[row])])))
        inputs = shorten.signature(self._trace.signature(int(rows.signature[row])) or "")
        return text, inputs, Phase(int(rows.phase[row])).name.lower()


class _Labels:
    """The labels of samples. Those of a thread are made once."""

    def __init__(self, profile: _Profile) -> None:
        self._profile = profile
        self._threads: dict[int, bytes] = {}

    def of(self, thread: int, row: int) -> bytes:
        """The labels of a row on a thread."""
        profile = self._profile
        if thread not in self._threads:
            self._threads[thread] = profile.label("thread", profile.thread(thread))
        found = zip(("operator", "signature", "phase"), profile.operator(row), strict=True)
        return self._threads[thread] + b"".join(profile.label(key, text) for key, text in found)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first. Negative numbers, as damaged files have, by their 64 bits."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, *parts: bytes) -> bytes:
    """A field of bytes, of a text, or of other fields."""
    content = b"".join(parts)
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content
