"""What a listening tool got of perfprobe's own ranges, from the log that tests/native/listener writes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Heard:
    """One process's events in order.

    Attributes:
        nested: by thread, ("+", text) and ("-", text) of ranges that nest.
        free: the same of all other ranges.
        ids: by thread, the pushed ids.
        texts: messages that were made.
        open: ranges that never ended.
        faults: ends without a begin.
    """

    nested: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    free: list[tuple[str, str]] = field(default_factory=list)
    ids: dict[int, list[int]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def begun(self, thread: int | None = None) -> list[str]:
        """The texts of a thread's nested ranges (default: the main thread's) in the order of their begins."""
        return [text for sign, text in self.nested.get(thread or os.getpid(), []) if sign == "+"]


class _Reader:
    """Replays the log of one process."""

    def __init__(self) -> None:
        self.heard = Heard()
        self._stacks: dict[int, list[str]] = {}
        self._ids: dict[int, int] = {}
        self._free: dict[str, str] = {}

    def take(self, thread: int, event: str, text: str) -> None:
        if event in ("push", "pop"):
            self._nest(thread, event == "push", text)
        elif event == "begin":
            number, _, text = text.partition(" ")
            self._free[number] = text
            self.heard.free.append(("+", text))
        elif event == "end":
            self._end(text)
        elif event == "text":
            self.heard.texts.append(text)
        elif event == "id":
            self.heard.ids.setdefault(thread, []).append(int(text.split()[1]))
            self._ids[thread] = self._ids.get(thread, 0) + 1
        elif event == "unid":
            self._ids[thread] = self._ids.get(thread, 0) - 1
            if self._ids[thread] < 0:
                self.heard.faults.append("an id that was not there is taken back")

    def finish(self) -> Heard:
        self.heard.open = [text for texts in self._stacks.values() for text in texts]
        self.heard.open += [*self._free.values(), *(f"{left} ids" for left in self._ids.values() if left)]
        return self.heard

    def _nest(self, thread: int, begins: bool, text: str) -> None:
        stack = self._stacks.setdefault(thread, [])
        if begins:
            stack.append(text)
        elif not stack:
            self.heard.faults.append("a pop of nothing")
            return
        else:
            text = stack.pop()
        self.heard.nested.setdefault(thread, []).append(("+" if begins else "-", text))

    def _end(self, number: str) -> None:
        if number in self._free:
            self.heard.free.append(("-", self._free.pop(number)))
        else:
            self.heard.faults.append("an end of nothing")


def heard_by_process(log: Path) -> dict[int, Heard]:
    """The events of each process."""
    readers: dict[int, _Reader] = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        process, thread, event, text = line.split(" ", 3)
        readers.setdefault(int(process), _Reader()).take(int(thread), event, text)
    return {process: reader.finish() for process, reader in readers.items()}


class Listener:
    """A listening tool in this process that replaces the ports to NVTX, ITT and CUPTI."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._name = ctypes.c_char_p(b"perfprobe.emission.1"), ctypes.c_char_p(b"perfprobe.external_ids.1")

    def port(self) -> object:
        """The port for ranges."""
        return self._capsule("listener_port", self._name[0])

    def ids(self) -> object:
        """The port for ids."""
        return self._capsule("listener_ids", self._name[1])

    def into(self, log: Path) -> None:
        """Writes to this file from now on."""
        self._library.listen_into(os.fsencode(log))

    def _capsule(self, table: str, name: ctypes.c_char_p) -> object:
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        made: object = make(ctypes.addressof(ctypes.c_char.in_dll(self._library, table)), name, None)
        return made


def pairs(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Each begin with the directly following end: ranges without others inside."""
    for text in texts:
        yield from (("+", text), ("-", text))
