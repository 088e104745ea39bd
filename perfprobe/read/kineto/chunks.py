"""Reads the events of a Chrome trace in parts of a few MiB: the whole of a large one never is in memory.

A part ends behind a `}` that a comma and `{` follow. Whether this is the end of an event, or lies within one,
is decided by decoding the part: JSON that begins with an event and decodes ends with one, whatever the
whitespace. Where nothing decodes, events are read one by one, and what is damaged is left out and counted.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from perfprobe.read.kineto.event import Event, decoder, event_of
from perfprobe.support.errors import InputError

PART_BYTES = 4 << 20
LONGEST_HEAD = 64 << 20  # before the list of events
LONGEST_EVENT = 4 << 20
_GZIP = b"\x1f\x8b"
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"}\s*,\s*(?={)")
_END = re.compile(rb"\s*\]")
_BARE = re.compile(rb"\s*\[")
_NO_NUMBER = re.compile(rb":\s*-?(?:nan|inf)\b", re.IGNORECASE)  # as C++ prints them
_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")
_TRIES = 4
_BETWEEN_EVENTS = b", \t\r\n"
_REMEDY = "write it again: prof.export_chrome_trace(FILE), or torch.profiler.tensorboard_trace_handler(DIR)"


def is_trace(head: bytes) -> bool:
    """Whether a file that begins so may be a trace: JSON, or compressed."""
    return head.startswith(_GZIP) or _BEGINNING.match(head) is not None


class Chunks:
    """The events of a trace, and what it says beside them.

    about: the other entries of the file, as far as they are small. damaged: events that could not be decoded.
    stopped: why reading ended before the end of the list, None where it did not. typed: whether msgspec
    decodes, which is faster than the standard library. parts: how many had events.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._name = name
        first = stream.read(2)
        stream.seek(0)
        self._stream: Any = gzip.GzipFile(fileobj=stream) if first == _GZIP else stream
        self.about: dict[str, Any] = {}
        self.damaged = 0
        self.stopped: str | None = None
        self._decode, self.typed = decoder()
        self.parts = 0
        self._ended = False

    def __iter__(self) -> Iterator[list[Event]]:
        """The events, a list for each part. Raises InputError where the file is no trace."""
        left = self._start()
        while True:
            text = self._read(PART_BYTES)
            events, left = self._part((left + text).lstrip(_BETWEEN_EVENTS), is_last=not text)
            if events:
                self.parts += 1
                yield events
            if self._ended or not text:
                break
        self._finish(left)

    def _read(self, size_bytes: int) -> bytes:
        try:
            return bytes(self._stream.read(size_bytes))
        except (EOFError, OSError, zlib.error):
            self.stopped = "the compressed file is cut or damaged"
            return b""

    def _start(self) -> bytes:
        """What follows the `[` of the list."""
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

    def _part(self, text: bytes, *, is_last: bool) -> tuple[list[Event], bytes]:
        """The events of a text that begins with one, and the text behind them."""
        for end in itertools.islice(_ends(text), _TRIES):
            try:
                events = self._decode(b"[" + text[:end] + b"]")
            except (ValueError, RecursionError):
                continue
            rest = text[end:].lstrip()
            self._ended = rest.startswith(b"]")
            return events, rest
        return self._one_by_one(text, is_last=is_last)

    def _one_by_one(self, text: bytes, *, is_last: bool) -> tuple[list[Event], bytes]:
        """The same where the end of the list, or something damaged, is in the text."""
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
        return [event_of(event) for event in events if isinstance(event, dict)], letters[at:].encode()

    def _finish(self, left: bytes) -> None:
        if not self._ended:
            self.stopped = self.stopped or "the file ends before its list of events does"
            return
        while (text := self._read(PART_BYTES)) and len(left) < LONGEST_HEAD:
            left += text
        self._add_about(b'{"":0' + left[1:].rstrip() if left.startswith(b"]") else b'{"":0,' + left)

    def _add_about(self, text: bytes) -> None:
        """Entries of the file, `{"a": 1, "b": 2`, with the bracket or without."""
        for closed in (text, text + b"}"):
            try:
                found = json.loads(closed)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                self.about.update(found)
            return


def _ends(text: bytes) -> Iterator[int]:
    """Where an event may end, the last one first."""
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
    """Where the next event may begin; the end where none does."""
    found = re.compile(r"}\s*,\s*(?={)").search(letters, at)
    return len(letters) if found is None else found.end()
