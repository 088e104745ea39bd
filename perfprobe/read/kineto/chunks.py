"""Reads the events of a Chrome trace in parts of a few MiB: a large trace is never in memory as a whole.

A part ends after a `}` that is followed by a comma and `{`. This may be the end of an event or lie within
one. Decoding the part decides: text that begins with an event and decodes also ends with an event. If no
such end decodes, the events are read one by one. Damaged events are left out and counted.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from perfprobe.models.chrome import ENTRY
from perfprobe.read.kineto.ahead import ReadAhead
from perfprobe.read.kineto.decoder import Decoder, own_decoder, plain_decoder
from perfprobe.support.errors import InputError

PART_BYTES = 4 << 20
LONGEST_HEAD = 64 << 20  # bytes before the list of events
LONGEST_EVENT = 4 << 20
_GZIP = b"\x1f\x8b"
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"}\s*,\s*(?={)")
_END = re.compile(rb"\s*\]")
_BARE = re.compile(rb"\s*\[")
_NO_NUMBER = re.compile(rb":\s*-?(?:nan|inf)\b", re.IGNORECASE)  # not JSON, but C++ writes them
_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")
_TRIES = 4
_BETWEEN_EVENTS = b", \t\r\n"
_REMEDY = "write it again: prof.export_chrome_trace(FILE), or torch.profiler.tensorboard_trace_handler(DIR)"


def is_trace(head: bytes) -> bool:
    """Whether a file with this beginning may be a trace: JSON, or compressed."""
    return head.startswith(_GZIP) or _BEGINNING.match(head) is not None


class Chunks:
    """Iterates over the events of a trace and keeps the file's other entries.

    Attributes:
        about: the file's entries other than the events. Large entries are left out.
        damaged: the number of events that could not be decoded.
        stopped: why reading ended before the end of the list; None if it did not.
        faster: what makes decoding faster; "" if the standard library does not decode.
        parts: the number of parts that had events.
        own: whether the file is a trace that perfprobe exported. It then yields lists of `OwnEvent`, else
            `Events`.

    Raises:
        InputError: the file is not a trace.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._name = name
        first = stream.read(2)
        stream.seek(0)
        self._stream = ReadAhead(cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if first == _GZIP else stream)
        self.about: dict[str, Any] = {}
        self.damaged = 0
        self.stopped: str | None = None
        self.parts = 0
        self._ended = False
        self._first = self._start()
        self.own = isinstance(self.about.get(ENTRY), dict)
        self._decoder: Decoder = own_decoder() if self.own else plain_decoder()
        self.faster = self._decoder.remedy

    def __iter__(self) -> Iterator[Any]:
        """Yields the events of each part."""
        left, self._first = self._first, b""
        while True:
            text = self._read(PART_BYTES)
            events, left = self._part((left + text).lstrip(_BETWEEN_EVENTS), is_last=not text)
            if len(events):
                self.parts += 1
                yield events
            if self._ended or not text:
                break
        self._finish(left)

    def _read(self, size_bytes: int) -> bytes:
        text = self._stream.read(size_bytes)
        if self._stream.is_damaged:
            self.stopped = "the compressed file is cut or damaged"
        return text

    def _start(self) -> bytes:
        """Reads up to the list of events; returns the text after its `[`."""
        head = b""
        while True:
            text = self._read(PART_BYTES)
            head += text
            found = _LIST.search(head) or _BARE.match(head)
            if found is not None:
                self._add_about(head[: found.start()].rstrip().rstrip(b","))
                return head[found.end() :].lstrip()
            if not text or len(head) > LONGEST_HEAD:
                why = "it has no list of traceEvents" if head else "it is empty"
                what = f"not a trace of torch.profiler: {self.stopped or why}"
                raise InputError(what, self._name, _REMEDY)

    def _part(self, text: bytes, *, is_last: bool) -> tuple[Any, bytes]:
        """Decodes a text that begins with an event; returns the events and the rest of the text."""
        for end in itertools.islice(_ends(text), _TRIES):
            try:
                events = self._decoder.many(b"[" + text[:end] + b"]")
            except (ValueError, RecursionError):
                continue
            rest = text[end:].lstrip()
            self._ended = rest.startswith(b"]")
            return events, rest
        return self._one_by_one(text, is_last=is_last)

    def _one_by_one(self, text: bytes, *, is_last: bool) -> tuple[Any, bytes]:
        """Like `_part`, for a text with a damaged event or the end of the list."""
        letters = _NO_NUMBER.sub(b":null", text).decode(errors="replace")
        decoder, events, at = json.JSONDecoder(), [], 0
        while at < len(letters):
            if letters[at] == "]":
                self._ended = True
                break
            try:
                event, at = decoder.raw_decode(letters, at)
            except (ValueError, RecursionError):
                if not is_last and len(letters) - at < LONGEST_EVENT:
                    break
                self.damaged += 1
                at = _next_event(letters, at)
                continue
            events.append(event)
            at = _behind_comma(letters, at)
        objects = [event for event in events if isinstance(event, dict)]
        return self._decoder.made(objects), letters[at:].encode()

    def _finish(self, left: bytes) -> None:
        if not self._ended:
            self.stopped = self.stopped or "the file ends before its list of events does"
            return
        while (text := self._read(PART_BYTES)) and len(left) < LONGEST_HEAD:
            left += text
        self._add_about(b'{"":0' + left[1:].rstrip() if left.startswith(b"]") else b'{"":0,' + left)

    def _add_about(self, text: bytes) -> None:
        """Adds entries of the file from a text like `{"a": 1, "b": 2`, with or without the final bracket."""
        for closed in (text, text + b"}"):
            try:
                found = json.loads(closed)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                self.about.update(found)
            return


def _ends(text: bytes) -> Iterator[int]:
    """Yields the positions at which an event may end, the last one first."""
    end = text.rfind(b"}")
    while end >= 0:
        if _BETWEEN.match(text, end) or _END.match(text, end + 1):
            yield end + 1
        end = text.rfind(b"}", 0, end)


def _behind_comma(letters: str, at: int) -> int:
    while at < len(letters) and letters[at] in ", \t\r\n":
        at += 1
    return at


def _next_event(letters: str, at: int) -> int:
    """Returns where the next event may begin, or the end of the text."""
    found = re.compile(r"}\s*,\s*(?={)").search(letters, at)
    return len(letters) if found is None else found.end()
