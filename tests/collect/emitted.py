"""What a listener heard of perfprobe's own ranges, from the log that tests/native/listener writes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Heard:
    """One process's events, in order.

    nested: by thread, ("+", text) and ("-", text) of ranges that nest; free: the same of all others; ids: by
    thread, what was pushed; texts: messages that were made; open: what never ended; faults: ends of nothing.
    """

    nested: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    free: list[tuple[str, str]] = field(default_factory=list)
    ids: dict[int, list[int]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def begun(self, thread: int | None = None) -> list[str]:
        """The texts of a thread's nested ranges (the main one's) in the order they began."""
        return [text for sign, text in self.nested.get(thread or os.getpid(), []) if sign == "+"]


class _Reader:
    """Plays the log of one process."""

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
    """What each process let be heard."""
    readers: dict[int, _Reader] = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        process, thread, event, text = line.split(" ", 3)
        readers.setdefault(int(process), _Reader()).take(int(thread), event, text)
    return {process: reader.finish() for process, reader in readers.items()}


class Listener:
    """A listener in this process, in place of the ports that go to NVTX, ITT and CUPTI."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._name = ctypes.c_char_p(b"perfprobe.emission.1"), ctypes.c_char_p(b"perfprobe.external_ids.1")

    def port(self) -> object:
        """For ranges."""
        return self._capsule("listener_port", self._name[0])

    def ids(self) -> object:
        """For ids."""
        return self._capsule("listener_ids", self._name[1])

    def into(self, log: Path) -> None:
        """From now on it writes to this file."""
        self._library.listen_into(os.fsencode(log))

    def _capsule(self, table: str, name: ctypes.c_char_p) -> object:
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        made: object = make(ctypes.addressof(ctypes.c_char.in_dll(self._library, table)), name, None)
        return made


def pairs(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Each range with how it begins and ends at once: what ran without anything inside."""
    for text in texts:
        yield from (("+", text), ("-", text))
