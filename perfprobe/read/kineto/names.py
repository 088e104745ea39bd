"""Strings, threads, frames, stacks, modules, signatures and launches of a trace."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import Any

import numpy as np

from perfprobe.read.kineto.event import small, value_of
from perfprobe.read.kineto.rows import Interned, Rows
from perfprobe.support.first_line import AT_START, FIRST_LINE
from perfprobe.tables.columns import Table
from perfprobe.tables.events import Signatures, Threads
from perfprobe.tables.gpu import KinetoLaunches, Launches
from perfprobe.tables.stacks import DEEPEST_MODULES, Frames, Modules, Stacks
from perfprobe.tables.strings import Strings

MOST_STACKS = 65_536
MOST_THREADS = 4096
_MOST_FRAMES = MOST_STACKS  # each is in some stack
_MOST_KNOWN = MOST_STACKS  # texts whose rows are remembered; those of others are found again
_LEFT_OUT = -2  # a frame beyond the limit
LONGEST_TEXT = 1 << 16
_MODULE = "nn.Module:"
_FRAME = re.compile(r"(?P<file>.*)\((?P<line>\d{1,9})\): (?P<function>.*)", re.DOTALL)
# Installed packages: a trace names their files from the package on, without site-packages.
_LIBRARIES = (
    *("accelerate", "datasets", "diffusers", "fairscale", "jax", "lightning", "numpy", "peft"),
    *("pytorch_lightning", "timm", "torchaudio", "torchvision", "transformers", "triton", "vllm"),
)


class Names:
    """Tables that other rows refer to by number. Each row exists once."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._in_order: list[str] = []
        self._threads: dict[int, int] = {}
        self._rows_of_threads: dict[int | str, int] = {}
        self.threads_left_out = 0
        self._thread_names: dict[int, str] = {}
        self._forward_ids: dict[int, int] = {}
        self._files: set[str] = set()
        self.frames, self.stacks = Interned(Frames, _MOST_FRAMES), Interned(Stacks, MOST_STACKS)
        self.modules = Interned(Modules, MOST_STACKS)
        self.signatures = Interned(Signatures, MOST_STACKS)
        self.launches, self._kineto = Rows(Launches), Rows(KinetoLaunches)
        self.module_calls: Counter[int] = Counter()  # of each row of modules
        self._module_depths = {-1: 0}
        self._call_stacks: dict[bytes, int] = {}
        self._sizes: dict[tuple[bytes, bytes], tuple[int, ...]] = {}
        self._launches: dict[tuple[int, ...], int] = {}
        self._places: dict[tuple[str, bool], int] = {}

    def text(self, value: object) -> int:
        """Returns the row of a text."""
        text = value if isinstance(value, str) else str(value)
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = len(self._texts)
            self._in_order.append(text)
        return found

    def any_begins(self, prefix: str) -> bool:
        """Returns whether any text begins so."""
        return any(text.startswith(prefix) for text in self._in_order)

    def name(self, row: int) -> str:
        """Returns the text of a row."""
        return self._in_order[row]

    def thread(self, number: object) -> int:
        """Returns the row of a thread by its OS number; -1 if that is not a number, or beyond the limit."""
        if type(number) is not int and not isinstance(number, str):
            return -1
        found = self._rows_of_threads.get(number)
        if found is None:
            key = _number(number)
            found = -1 if key is None else self._thread_row(key)
            self._rows_of_threads[number] = found
        return found

    def _thread_row(self, key: int) -> int:
        """Returns the row of a thread, -1 beyond the limit: most findings are made thread by thread."""
        if key not in self._threads and len(self._threads) >= MOST_THREADS:
            self.threads_left_out += 1
            return -1
        return self._threads.setdefault(key, len(self._threads))

    def name_thread(self, number: object, name: object) -> None:
        """Sets the name of a thread. The trace writes `thread 25772 (python)` for python."""
        key = _number(number)
        if key is not None and isinstance(name, str):
            self._thread_names[key] = name.partition("(")[2].rstrip(") ") or name.strip()

    def set_forward_id(self, thread: int, forward_id: int) -> None:
        """Sets torch's number of a thread."""
        self._forward_ids[thread] = forward_id

    def frame(self, place: str, *, first_line_only: bool) -> int:
        """Returns the row of a frame such as `train.py(12): step`; -1 if the text is not a frame."""
        key = place, first_line_only
        found = self._places.get(key)
        if found is None:
            found = self._frame(place, first_line_only)
            if len(self._places) < _MOST_KNOWN:
                self._places[key] = found
        return found

    def _frame(self, place: str, first_line_only: bool) -> int:
        found = _FRAME.fullmatch(place[:LONGEST_TEXT])
        if found is None:
            return -1
        if len(self.frames) == _MOST_FRAMES:
            return _LEFT_OUT
        file, line = found["file"], int(found["line"])
        self._files.add(file)
        is_first = first_line_only and not place.endswith(AT_START)
        function = found["function"] + (FIRST_LINE if is_first else "")
        return self.frames.row(self.text(file), self.text(function), line if is_first else -1, line, -1)

    def call(self, below: int, place: str) -> int:
        """Returns the stack inside a Python call made from the stack `below`. A call of C adds no frame."""
        if place.startswith(_MODULE):
            name = place[len(_MODULE) : LONGEST_TEXT].strip()  # class and number: `Linear_3`
            outer, frame, module = (-1, -1, -1) if below < 0 else self.stacks.values(below)[:3]
            kind = name.rpartition("_")[0]
            module = self._module(module, self.text(name), self.text(kind))
            return self.stacks.row(outer, frame, module, -1)
        frame = self.frame(place, first_line_only=True)
        return self._inside(below, frame, -1 if below < 0 else self.stacks.values(below)[2])

    def _inside(self, below: int, frame: int, module: int) -> int:
        """Returns the stack with one more frame; the same one if it is none, -1 if it was left out."""
        if frame == _LEFT_OUT:
            self.stacks.left_out += 1
            return -1
        return below if frame < 0 else self.stacks.row(below, frame, module, -1)

    def _module(self, outer: int, name: int, kind: int) -> int:
        """Returns the row of a module within another one, -1 for none; where they are too deep, a root."""
        depth = self._module_depths[outer]
        module = self.modules.row(outer if depth < DEEPEST_MODULES else -1, name, kind)
        self._module_depths.setdefault(module, depth % DEEPEST_MODULES + 1)
        return module

    def entered(self, below: int, place: str) -> int:
        """Like `call`, for one call. Calls of modules are counted."""
        stack = self.call(below, place)
        if stack >= 0 and place.startswith(_MODULE):
            self.module_calls[self.stacks.values(stack)[2]] += 1
        return stack

    def call_stack(self, text: bytes) -> int:
        """Returns the stack of a `Call stack`: JSON text, frames between semicolons, the innermost first."""
        key = bytes(text)
        found = self._call_stacks.get(key)
        if found is None:
            places, found = value_of(key), -1
            for place in reversed(places[:LONGEST_TEXT].split(";") if isinstance(places, str) else ()):
                found = self._inside(found, self.frame(place.strip(), first_line_only=False), -1)
            if len(self._call_stacks) < _MOST_KNOWN:
                self._call_stacks[key] = found
        return found

    def launch(self, grid: bytes, block: bytes, registers: int, kineto: tuple[int, int, int]) -> int:
        """Returns the row of `Launches` for a kernel; -1 if grid or block is not three numbers.

        Args:
            grid: the number of blocks, as undecoded JSON; likewise block, the threads of a block.
            kineto: the columns of `KinetoLaunches`.
        """
        key = bytes(grid), bytes(block)
        sizes = self._sizes.get(key)
        if sizes is None:
            both = [value_of(text) for text in key]
            is_size = all(isinstance(size, list) and len(size) == 3 for size in both)
            sizes = self._sizes[key] = (
                tuple(small(value) for size in both for value in size) if is_size else ()
            )
        if not sizes:
            return -1
        whole = (*sizes, registers, *kineto)
        found = self._launches.get(whole)
        if found is None:
            found = self._launches[whole] = len(self._launches)
            self.launches.add(*sizes, registers, -1, -1, -1)
            self._kineto.add(*kineto)
        return found

    def roots(self) -> dict[str, list[str]]:
        """Sorts files without a folder into torch, standard library and packages.

        The profiler removes the folders that are on sys.path, so paths alone are not enough.
        """
        of: dict[str, set[str]] = {"torch": set(), "stdlib": set(), "site": set()}
        for file in self._files:
            first = file.partition("/")[0]
            package = first.removesuffix(".py")
            if package == "torch":
                of["torch"].add(first)
            elif package in sys.stdlib_module_names:
                of["stdlib"].add(first)
            elif package in _LIBRARIES and "/" in file:
                of["site"].add(first)
        return {key: sorted(found) for key, found in of.items() if found}

    def tables(self) -> list[Table]:
        """Returns all tables. Strings come last, because making the others adds some."""
        names = [self.text(self._thread_names.get(number, "")) for number in self._threads]
        forward = [self._forward_ids.get(row, -1) for row in range(len(self._threads))]
        threads = Threads(
            os_thread=np.array(list(self._threads), np.int64),
            forward_id=np.array(forward, np.int32),
            name=np.array(names, np.int32),
        )
        known = (self.frames, self.stacks, self.modules, self.signatures, self.launches, self._kineto)
        others = [rows.table() for rows in known]
        texts = np.array([*map(_without_surrogates, self._texts), ""], np.object_)[:-1]
        return [threads, *others, Strings(texts)]


def _without_surrogates(text: str) -> str:
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _number(value: Any) -> int | None:
    """Returns a thread's number; None if it is not one. Older traces write it as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < 1 << 62 else None
