"""A listener for ranges and one for ids, in Python: writes down what the observer tells them, in order."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

# As csrc/core/emission_port.h has them.
_MESSAGE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
_PUSH = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_POP = ctypes.CFUNCTYPE(None)
_BEGIN = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
_END = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
_PUSH_ID = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64)
_POP_ID = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)

_kept: list[object] = []  # the observer refers to a listener as long as the process lives


class _EmissionPort(ctypes.Structure):
    _fields_ = [("message", _MESSAGE), ("push", _PUSH), ("pop", _POP), ("begin", _BEGIN), ("end", _END)]


class _ExternalIdPort(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("push", _PUSH_ID), ("pop", _POP_ID)]


def _capsule(structure: ctypes.Structure, name: bytes) -> object:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    _kept.extend([structure, name])
    made: object = make(ctypes.addressof(structure), name, None)
    return made


class Listener:
    """nested: of each thread its ranges that nest, ("+", text) and ("-", text); free: the same of all others.

    faults: what no tool could make sense of.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.nested: dict[int, list[tuple[str, str]]] = {}
        self.free: list[tuple[str, str]] = []
        self.faults: list[str] = []
        self._open: dict[int, list[str]] = {}
        self._free: dict[int, str] = {}
        self._begun = 0
        made = _EmissionPort(
            _MESSAGE(self._message), _PUSH(self._push), _POP(self._pop), _BEGIN(self._begin), _END(self._end)
        )
        self.capsule = _capsule(made, b"perfprobe.emission.1")

    @property
    def open(self) -> list[str]:
        """Ranges that have not ended."""
        return [text for texts in self._open.values() for text in texts] + list(self._free.values())

    def of_this_thread(self) -> list[tuple[str, str]]:
        """Its ranges that nest."""
        return self.nested.get(threading.get_ident(), [])

    def _message(self, text: bytes) -> int:
        self.messages.append(text.decode())
        return len(self.messages)

    def _push(self, message: int) -> None:
        text = self.messages[message - 1]
        self._open.setdefault(threading.get_ident(), []).append(text)
        self.nested.setdefault(threading.get_ident(), []).append(("+", text))

    def _pop(self) -> None:
        texts = self._open.get(threading.get_ident())
        if not texts:
            self.faults.append("a pop of nothing")
            return
        self.nested[threading.get_ident()].append(("-", texts.pop()))

    def _begin(self, message: int) -> int:
        self._begun += 1
        self._free[self._begun] = self.messages[message - 1]
        self.free.append(("+", self.messages[message - 1]))
        return self._begun

    def _end(self, number: int) -> None:
        if number not in self._free:
            self.faults.append("an end of nothing")
            return
        self.free.append(("-", self._free.pop(number)))


class Ids:
    """Takes the ids that CUPTI would get; seen: all of them in order, open: how many were not taken back."""

    KIND = 5

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.open: dict[int, list[int]] = {}
        self.faults: list[str] = []
        made = _ExternalIdPort(self.KIND, _PUSH_ID(self._push), _POP_ID(self._pop))
        self.capsule = _capsule(made, b"perfprobe.external_ids.1")

    def _push(self, kind: int, number: int) -> int:
        if kind != self.KIND:
            self.faults.append(f"an id of kind {kind}")
        self.seen.append(number)
        self.open.setdefault(threading.get_ident(), []).append(number)
        return 0

    def _pop(self, _kind: int, _last: int) -> int:
        if not self.open.get(threading.get_ident()):
            self.faults.append("a pop of nothing")
            return 1
        self.open[threading.get_ident()].pop()
        return 0


def listening(monkeypatch: Any) -> Listener:
    """From now on ranges go to this listener."""
    made = Listener()
    monkeypatch.setattr("perfprobe.collect.emit.listener", lambda facts, kind: made.capsule if kind else None)
    return made


def run_on_thread(run: Callable[[], object]) -> int:
    """Run it on a thread of its own and wait; its identity."""
    thread = threading.Thread(target=run)
    thread.start()
    identity = thread.ident
    thread.join()
    assert identity is not None
    return identity
