"""Reads `.cupti` files (csrc/gpu/cupti_fixture.h) and decodes them again."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfprobe.tables.recording import Recording
from tests.collect.cupti_buffers import CONCURRENT_KERNEL, KERNEL, decode, iterator, namer

MAGIC = b"PPCUPTI1"
NAME_AT = 104  # offset in a kernel's record


def strides_of(data: bytes) -> dict[int, int]:
    strides = struct.unpack(f"<{len(data) // 4}I", data)
    return {kind: stride for kind, stride in enumerate(strides) if stride}


FACTS: dict[bytes, tuple[str, Callable[[bytes], Any]]] = {
    b"ORGN": ("origin", bytes.decode),
    b"VERS": ("version", lambda data: int.from_bytes(data, "little")),
    b"STRD": ("strides", strides_of),
    b"LOST": ("lost", lambda data: struct.unpack("<QQ", data)),
}


@dataclass
class Fixture:
    """A fixture.

    Attributes:
        strides: bytes by kind.
        clocks: (cupti, realtime, monotonic) in ns.
        names: present addresses of the names, by their former addresses.
        calls: names of functions by domain and callback.
        lost: records that CUPTI dropped and buffers left out; None if the file was cut off.
    """

    origin: str = ""
    version: int = 0
    strides: dict[int, int] = field(default_factory=dict)
    clocks: list[tuple[int, ...]] = field(default_factory=list)
    names: dict[int, Any] = field(default_factory=dict)
    calls: dict[tuple[int, int], bytes] = field(default_factory=dict)
    buffers: list[bytearray] = field(default_factory=list)
    lost: tuple[int, ...] | None = None
    _kept: list[Any] = field(default_factory=list)

    @property
    def is_synthetic(self) -> bool:
        return self.origin.startswith("synthetic")

    def add(self, tag: bytes, data: bytes) -> None:
        if tag in FACTS:
            name, value_of = FACTS[tag]
            setattr(self, name, value_of(data))
        elif tag == b"CLCK":
            self.clocks.append(struct.unpack("<3Q", data))
        elif tag == b"NAME":
            text = ctypes.create_string_buffer(data[8:])
            self._kept.append(text)
            self.names[int.from_bytes(data[:8], "little")] = ctypes.addressof(text)
        elif tag == b"CALL":
            domain, callback = struct.unpack_from("<II", data)
            self.calls[domain, callback] = data[8:]
        elif tag == b"BUFR":
            self.buffers.append(self._pointed(bytearray(data)))

    def _pointed(self, buffer: bytearray) -> bytearray:
        """Replaces the names' former addresses in a buffer by the present ones."""
        at = 0
        while at + 4 <= len(buffer):
            (kind,) = struct.unpack_from("<I", buffer, at)
            stride = self.strides.get(kind, len(buffer))
            if kind in (KERNEL, CONCURRENT_KERNEL) and at + stride <= len(buffer):
                (address,) = struct.unpack_from("<Q", buffer, at + NAME_AT)
                struct.pack_into("<Q", buffer, at + NAME_AT, self.names.get(address, 0))
            at += stride
        return buffer


def read_fixture(path: Path) -> Fixture:
    data = path.read_bytes()
    assert data.startswith(MAGIC), f"{path} is not a fixture"
    fixture = Fixture()
    at = len(MAGIC)
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if at + 8 + size > len(data):
            break
        fixture.add(data[at : at + 4], data[at + 8 : at + 8 + size])
        at += 8 + size
    return fixture


def replay(fixture: Fixture, path: Path) -> tuple[Recording, dict[str, Any]]:
    """Returns the recording of the fixture's buffers, and the decoder's figures."""
    return decode(path, fixture.buffers, iterator(fixture.strides), namer(fixture.calls))
