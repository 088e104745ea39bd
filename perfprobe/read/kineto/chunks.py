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
from perfprobe.read.kineto import about
from perfprobe.read.kineto.ahead import ReadAhead
from perfprobe.read.kineto.decoder import Decoder, own_decoder, plain_decoder
from perfprobe.read.kineto.others import kind_of
from perfprobe.support import units
from perfprobe.support.errors import InputError

PART_BYTES = 2 << 20
MOST_BRACES = 1 << 15  # of a part: at most so many events, which take more memory than their text
LONGEST_EVENT = 1 << 20
LARGEST_BYTES = 8 << 30  # of a trace, after it was expanded
_GZIP = b"\x1f\x8b"
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"}\s*,\s*(?={)")
_END = re.compile(rb"\s*\]")
_BARE = re.compile(rb"\s*\[")
_NO_NUMBER = re.compile(rb":\s*-?(?:nan|inf)\b", re.IGNORECASE)  # not JSON, but C++ writes them
_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")
_TRIES = 4
_MOST_WASTED = 16 << 20  # characters, see `_wasted`, beyond those of the file
_DEEPEST = 10_000  # characters that are decoded until Python finds a value too deep
_BETWEEN_EVENTS = b", \t\r\n"
_REMEDY = "write it again: prof.export_chrome_trace(FILE), or torch.profiler.tensorboard_trace_handler(DIR)"


def is_trace(head: bytes) -> bool:
    """Whether a file with this beginning may be a trace: JSON, or compressed."""
    return head.startswith(_GZIP) or _BEGINNING.match(head) is not None


class Chunks:
    """Iterates over the events of a trace and keeps the file's other entries.

    Args:
        largest_bytes: the largest size of a trace, after it was expanded.

    Attributes:
        about: the file's entries other than the events.
        left_out: whether there are too many entries behind the events.
        damaged: the number of events that could not be decoded.
        stopped: why reading ended before the end of the list; None if it did not.
        faster: what makes decoding faster; "" if the standard library does not decode.
        kind: what the file is, if it is of another kind that is known.
        parts: the number of parts that had events.
        own: whether the file is a trace that perfprobe exported. It then yields lists of `OwnEvent`, else
            `Events`.

    Raises:
        InputError: the file is not a trace, or too large.
    """

    def __init__(self, stream: BinaryIO, name: str, largest_bytes: int = LARGEST_BYTES) -> None:
        self._name = name
        first = stream.read(2)
        stream.seek(0)
        self._stream = ReadAhead(cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if first == _GZIP else stream)
        self._largest_bytes, self._read_bytes, self._wasted = largest_bytes, 0, 0
        self.about: dict[str, Any] = {}
        self.left_out = False
        self.damaged = 0
        self.stopped: str | None = None
        self.parts = 0
        self._ended = False
        self.kind: str | None = None
        self._first = self._start()
        self.own = isinstance(self.about.get(ENTRY), dict)
        self._decoder: Decoder = own_decoder() if self.own else plain_decoder()
        self.faster = self._decoder.remedy

    def __iter__(self) -> Iterator[Any]:
        """Yields the events of each part."""
        text, self._first, is_last, needs_more = self._first, b"", False, True
        while not self._ended and not (is_last and needs_more):
            if not is_last and (needs_more or len(text) < PART_BYTES):
                more = self._read(PART_BYTES)
                text, is_last = text + more, not more
            text = text.lstrip(_BETWEEN_EVENTS)
            events, left = self._part(text, is_last=is_last)
            if len(events):
                self.parts += 1
                yield events
            text, needs_more = left, len(left) >= len(text)
        self._finish(text)

    def _read(self, size_bytes: int) -> bytes:
        text = self._stream.read(size_bytes)
        if self._stream.is_damaged:
            self.stopped = "the compressed file is cut or damaged"
        self._read_bytes += len(text)
        if self._read_bytes > self._largest_bytes:
            what = f"the trace is larger than {units.size(self._largest_bytes)} when expanded"
            raise InputError(what, self._name, "`perfprobe report --largest SIZE` reads larger ones")
        return text

    def _start(self) -> bytes:
        """Reads up to the list of events; returns the text after its `[`."""
        head = b""
        while True:
            text = self._read(PART_BYTES)
            head += text
            found = _LIST.search(head) or _BARE.match(head)
            size_bytes = len(head) if found is None else found.start()
            if size_bytes > about.LONGEST_BYTES:
                raise self._no_trace("too much comes before its list of traceEvents")
            if found is not None:
                self._add_about(head[: found.start()].rstrip().rstrip(b","))
                self.kind = kind_of(head) if _BARE.match(head) is not None else None
                return head[found.end() :].lstrip()
            if not text:
                kind = kind_of(head)
                none = "it has no list of traceEvents" if kind is None else f"this is {kind}"
                raise self._no_trace(none if head else "it is empty")

    def _no_trace(self, why: str) -> InputError:
        return InputError(f"not a trace of torch.profiler: {self.stopped or why}", self._name, _REMEDY)

    def _add_about(self, text: bytes) -> None:
        if about.is_too_large(text):
            raise self._no_trace("too much comes before its list of traceEvents")
        self.about.update(about.entries(text))

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
        decoder, at = json.JSONDecoder(), 0
        events: list[dict[str, Any]] = []
        while at < min(len(letters), LONGEST_EVENT) and len(events) < MOST_BRACES:
            if letters[at] == "]":
                self._ended = True
                break
            try:
                event, at = decoder.raw_decode(letters, at)
            except (ValueError, RecursionError) as error:
                if not is_last and len(letters) - at < LONGEST_EVENT:
                    break
                self._wasted += _wasted(error, at)
                if self._wasted > _MOST_WASTED + self._read_bytes:
                    self._ended, self.stopped = True, "too many events are damaged"
                    break
                self.damaged += 1
                at = _next_event(letters, at)
                continue
            if isinstance(event, dict) and "ph" in event:
                events.append(event)
            at = _behind_comma(letters, at)
        return self._decoder.made(events), letters[at:].encode()

    def _finish(self, left: bytes) -> None:
        if not self._ended:
            self.stopped = self.stopped or "the file ends before its list of events does"
            return
        if not left.startswith(b"]"):
            return
        while (text := self._read(PART_BYTES)) and len(left) <= about.LONGEST_BYTES:
            left += text
        left = left[1:].rstrip().removeprefix(b",")
        self.left_out = about.is_too_large(left)
        if not self.left_out:
            self.about.update(about.entries(b"{" + left))


def _ends(text: bytes) -> Iterator[int]:
    """Yields the positions at which an event may end, the last one first."""
    end = len(text)
    while text.count(b"{", 0, end) > MOST_BRACES:
        end //= 2
    end = text.rfind(b"}", 0, end)
    while end >= 0:
        if _BETWEEN.match(text, end) or _END.match(text, end + 1):
            yield end + 1
        end = text.rfind(b"}", 0, end)


def _wasted(error: ValueError | RecursionError, at: int) -> int:
    """Returns how many characters could have been decoded in the time that a damaged event at a place took.

    It includes counting the lines before the place, which every error does.
    """
    behind = error.pos if isinstance(error, json.JSONDecodeError) else at + _DEEPEST
    return 100 + behind - at + behind // 256


def _behind_comma(letters: str, at: int) -> int:
    while at < len(letters) and letters[at] in ", \t\r\n":
        at += 1
    return at


def _next_event(letters: str, at: int) -> int:
    """Returns where the next event may begin, or the end of the text."""
    found = re.compile(r"}\s*,\s*(?={)").search(letters, at)
    return len(letters) if found is None else found.end()
