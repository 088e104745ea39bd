"""Reads recordings. Describes the disk format, which only csrc/core and its readers here know.

    file    := "PERFPROBE\\n" (10 bytes)  format_version u16
    block   := u32 0x4B4C4250  u32 payload_bytes  u32 crc32(payload)  payload            (all little endian)
    payload := text(table) uvarint(rows) uvarint(column_count) column*
    column  := text(name) u8 coding  uvarint(byte_count)  bytes
    text    := uvarint(length) utf-8
    coding  := 0 constant: one svarint | 1 plain: svarints | 2 delta: svarints, differences to the row before
             | 3 runs: (svarint value, uvarint count)* | 4 text: uvarint lengths, then all bytes
             | 5 relative: uvarint(index of an earlier column), then svarints: the difference to its row

A uvarint is LEB128, a svarint zigzag then LEB128. Unknown tables, columns and codings are skipped. The
first broken block ends the reading: all before it is valid. Ids are positions over all blocks of a
table in order.

A recording is untrusted: nothing in it may crash the reader, or make it use memory out of proportion
to the file. In every block that a writer makes a row takes at least a byte, which bounds what a block may
claim.

The classes that `definitions` lists declare the tables and columns, and what they mean. Some tables are
streamed, all others are kept in memory.

Changelog of the format: 1, the first version. Columns that were added since, all -1 in older files:
`signatures.values`, `signatures.name`, `signatures.overload`, `operators.faults`. Tables:
`signature_values`, `operand_reuse`, `thread_times`, `processor_times`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.support.errors import InputError
from perfprobe.tables.blocks import Block
from perfprobe.tables.definitions import Definitions, decoded
from perfprobe.tables.events import AutogradOperators, Operators
from perfprobe.tables.memory import MemoryBlocks, MemoryRows
from perfprobe.tables.opened import OpenedFile, regular_file
from perfprobe.tables.recording import Recording
from perfprobe.tables.varints import DamagedError

MAGIC = b"PERFPROBE\n"
_SQLITE = b"SQLite format"
FORMAT_VERSION = 1
MARKER = 0x4B4C4250
SUFFIX = ".perfprobe"
FOLDER = ".perfprobe"  # in a program's current folder: its recordings that the user did not name
BATCH_ROWS = 131_072  # a batch's columns and what is computed from them stay near 20 MB
MOST_BLOCK_ROWS = 262_144
_FIRST_BLOCKS = 32  # blocks that hold what is written at the start

_VERSION = struct.Struct("<H")
_BLOCK_HEAD = struct.Struct("<III")
_REQUIRED = ("start_ns", "end_ns", "thread", "depth", "name")
_OPERATORS = (Operators.table_name, AutogradOperators.table_name)


class _Payload(NamedTuple):
    """The position of an operators block's payload in the file."""

    offset: int
    size_bytes: int
    rows: int


def opened(path: str | os.PathLike[str]) -> OpenedFile:
    """Opens the file. Raises InputError if that fails."""
    try:
        return OpenedFile(path)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        raise _unreadable(error, os.fspath(path)) from error


def is_recording(file: OpenedFile) -> bool:
    """Whether the file begins as recordings do."""
    try:
        return file.at(0, len(MAGIC)) == MAGIC
    except OSError:
        return False


def read(path: str | os.PathLike[str] | OpenedFile) -> Recording:
    """Reads a recording: checks every block and reads the definitions. Operators are read when requested.

    Raises InputError if the file cannot be read, is not a recording, or has a newer format.
    """
    file = path if isinstance(path, OpenedFile) else opened(path)
    try:
        with file.stream() as stream:
            _check_head(stream, file.name)
            return _scan(stream, file)
    except OSError as error:
        raise _unreadable(error, file.name) from error


def _unreadable(error: OSError | ValueError, name: str) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InputError(f"cannot read the recording: {reason}", name)


def facts(path: str) -> dict[str, Any]:
    """Returns the meta values at the beginning of a recording, without reading the rest.

    Empty if the file is not a recording or cannot be read.
    """
    definitions = Definitions()
    unreadable = (OSError, ValueError, InputError, DamagedError)
    with contextlib.suppress(*unreadable), open(path, "rb", opener=regular_file) as file:
        _check_head(file, path)
        for payload in itertools.islice(_payloads(file), _FIRST_BLOCKS):
            block = Block(payload)
            if block.table == "meta":
                definitions.add(block)
    return definitions.meta


def newest(folder: str | os.PathLike[str] = ".") -> str:
    """Returns the recording that was written last in this folder and its `.perfprobe/`.

    Raises InputError if there is none.
    """
    try:
        latest = max(recordings_in(folder), key=lambda entry: entry.stat().st_mtime_ns)
        return os.path.normpath(latest.path)
    except (OSError, ValueError) as error:  # ValueError: max() of nothing
        remedy = "name one, or make one: python -m perfprobe script.py"
        raise InputError(f"no recording (*{SUFFIX})", os.fspath(folder), remedy) from error


def recordings_in(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """Returns the recordings in this folder and its `.perfprobe/`. Raises OSError if it cannot be read."""
    own = os.path.join(folder, FOLDER)
    places = [folder, own] if os.path.isdir(own) and not os.path.islink(own) else [folder]
    found: list[os.DirEntry[str]] = []
    for place in places:
        with os.scandir(place) as entries:
            found += [entry for entry in entries if entry.name.endswith(SUFFIX) and entry.is_file()]
    return found


def rotated(path: str) -> list[str]:
    """The further recordings of a run that rotates (`--rotate`), by the path of its first one."""
    stem, ending = os.path.splitext(path)
    found: list[str] = []
    while os.path.exists(f"{stem}.{len(found) + 2}{ending}"):
        found.append(f"{stem}.{len(found) + 2}{ending}")
    return found


def _check_head(file: BinaryIO, name: str) -> None:
    head = file.read(len(MAGIC) + _VERSION.size)
    if head[: len(MAGIC)] != MAGIC[: len(head)] or not head:
        what = "neither a perfprobe recording, a trace nor a .pstats file"
        what += "" if head else " (it is empty)"
        what += " (an SQLite database, as Nsight Systems exports)" if head.startswith(_SQLITE) else ""
        raise InputError(what, name, "perfprobe run writes a recording")
    if len(head) < len(MAGIC) + _VERSION.size:
        raise InputError("the recording ends before its first block", name, "record again")
    (version,) = _VERSION.unpack(head[len(MAGIC) :])
    if version > FORMAT_VERSION:
        remedy = f"this perfprobe reads up to format {FORMAT_VERSION}: use the one that wrote it"
        raise InputError(f"the recording has format {version}", name, remedy)
    if version == 0:
        raise InputError("the recording has format 0, which never existed", name, "record again")


def _scan(stream: BinaryIO, file: OpenedFile) -> Recording:
    definitions = Definitions()
    payloads: dict[str, list[_Payload]] = {table: [] for table in _OPERATORS}
    memory = _MemoryPayloads(file)
    stopped_at = None
    offset = stream.tell()
    try:
        for payload in _payloads(stream):
            block = Block(payload)
            if block.table in payloads:
                payloads[block.table].append(_payload(block, offset + _BLOCK_HEAD.size))
            elif block.table == MemoryRows.table_name:
                memory.add(block, offset + _BLOCK_HEAD.size)
            else:
                definitions.add(block)
            offset += _BLOCK_HEAD.size + len(payload)
    except DamagedError as error:
        stopped_at = f"{error} (at byte {offset:,} of {os.fstat(stream.fileno()).st_size:,})"
    rows = sum(payload.rows for payload in payloads[Operators.table_name])
    sources = {table: partial(_batches, file, found) for table, found in payloads.items()}
    return definitions.recording(file.name, stopped_at, rows, sources, memory.blocks())


def _payloads(file: BinaryIO) -> Iterator[bytes]:
    """Yields the payloads of all blocks. Raises DamagedError at the first incomplete one."""
    left = os.fstat(file.fileno()).st_size - file.tell()
    while left > 0:
        head = file.read(_BLOCK_HEAD.size)
        if len(head) < _BLOCK_HEAD.size:
            raise DamagedError("the last block is cut off")
        marker, size_bytes, checksum = _BLOCK_HEAD.unpack(head)
        left -= _BLOCK_HEAD.size + size_bytes
        if marker != MARKER:
            raise DamagedError("a block does not begin with its marker")
        payload = file.read(size_bytes) if left >= 0 else b""
        if len(payload) < size_bytes:
            raise DamagedError("the last block is cut off")
        if zlib.crc32(payload) != checksum:
            raise DamagedError("a block has a wrong checksum")
        yield payload


def _payload(block: Block, offset: int) -> _Payload:
    if block.rows > MOST_BLOCK_ROWS:
        raise DamagedError("a block has more operators than any writer makes")
    for name in _REQUIRED:
        if name not in block:
            raise DamagedError(f"a block of operators has no column {name}")
    return _Payload(offset, len(block.payload), block.rows)


class _MemoryPayloads:
    """The blocks of the table `memory`, found by where their payloads are in the file."""

    def __init__(self, file: OpenedFile) -> None:
        self._file = file
        self._payloads: list[_Payload] = []
        self._spans: list[tuple[int, int]] = []
        self._rows = 0

    def add(self, block: Block, offset: int) -> None:
        """Adds the next block. Raises DamagedError."""
        self._rows += block.rows
        if block.rows > MOST_BLOCK_ROWS or self._rows > (MemoryRows.most_rows or 0):
            raise DamagedError("there are more rows of memory than any writer makes")
        if block.rows:
            times_ns = np.empty(block.rows, np.int64)
            block.read_into("time_ns", times_ns)
            self._payloads.append(_Payload(offset, len(block.payload), block.rows))
            self._spans.append((int(times_ns.min()), int(times_ns.max())))

    def blocks(self) -> MemoryBlocks | None:
        """Returns all blocks; None if there are none."""
        if not self._payloads:
            return None
        first_ns, last_ns = np.array(self._spans, np.int64).T
        return MemoryBlocks(first_ns, last_ns, self._read)

    def _read(self, number: int) -> MemoryRows:
        payload = self._payloads[number]
        try:
            return decoded(MemoryRows, Block(self._file.at(payload.offset, payload.size_bytes)))
        except (OSError, DamagedError) as error:
            what = f"the rows of memory cannot be read: {error}"
            raise InputError(what, self._file.name, "record again") from error


def _batches(
    file: OpenedFile, payloads: Sequence[_Payload], wanted: Sequence[str]
) -> Iterator[dict[str, npt.NDArray[Any]]]:
    try:
        for group in _groups(payloads):
            yield _batch(file, group, wanted)
    except (OSError, DamagedError) as error:
        raise InputError(f"the operators cannot be read: {error}", file.name, "record again") from error


def _groups(payloads: Sequence[_Payload]) -> Iterator[list[_Payload]]:
    group: list[_Payload] = []
    rows = 0
    for payload in payloads:
        if group and rows + payload.rows > BATCH_ROWS:
            yield group
            group, rows = [], 0
        group.append(payload)
        rows += payload.rows
    if group:
        yield group


def _batch(file: OpenedFile, group: Sequence[_Payload], wanted: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    rows = sum(payload.rows for payload in group)
    batch: dict[str, npt.NDArray[Any]] = {name: np.empty(rows, Operators.dtypes[name]) for name in wanted}
    at = 0
    for payload in group:
        block = Block(file.at(payload.offset, payload.size_bytes))
        if block.rows != payload.rows:
            raise DamagedError("the file changed while it was read")
        for name, column in batch.items():
            block.read_into(name, column[at : at + block.rows])
        at += block.rows
    return batch
