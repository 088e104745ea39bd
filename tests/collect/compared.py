"""Looks at the calling thread's stack, compared with all of its frames read in other ways."""

from __future__ import annotations

import gc
import sys
import traceback
from random import Random
from typing import Any

Row = tuple[str, str, int, int] | None


def walked(depth: int) -> list[tuple[str, str, int]]:
    """File, unqualified name and line of every frame from this many callers on, innermost first."""
    found = traceback.walk_stack(sys._getframe(depth + 1))
    return [(frame.f_code.co_filename, frame.f_code.co_name, line) for frame, line in found]


def plain(rows: list[Row]) -> list[tuple[str, str, int]]:
    """The same of rows that were read natively."""
    return [(row[0], row[1].rsplit(".", 1)[-1], row[3]) for row in rows if row is not None]


class Compared:
    """Looks at the stack and compares it with all frames, read natively and at times by `traceback`.

    `traceback` makes frame objects, with which calls end differently. core: the module that reads frames.
    """

    def __init__(self, core: Any, seed: int) -> None:
        self.looks = 0
        self.kept = 0
        self.wrong: list[object] = []
        self._core = core
        self._fast = core.frames_misfit() == ""
        self._random = Random(seed)

    def __call__(self) -> None:
        rows, kept = self._core.stack_kept()
        self.looks += 1
        self.kept += kept
        # The first is this function, on another line.
        if self._fast and rows[1:] != self._core.stack_fast()[1:]:
            self.wrong.append((rows, self._core.stack_fast()))
        if self._random.random() < 0.2 and plain(rows[1:]) != (expected := walked(1)):
            self.wrong.append((rows, expected))
        if self._random.random() < 0.01:
            gc.collect(0)
