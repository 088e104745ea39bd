"""Which rows a regular expression asks for: by operator, signature, line, module or phase."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perfprobe.support.view import compiled
from perfprobe.tables.columns import Int32, Mask
from perfprobe.tables.events import LinkedOperators, Signatures
from perfprobe.tables.findings import Sums
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import SHORT_PHASES, Line, Phase, Trace, shown_name


class Focus:
    """Finds rows of a trace by their texts, as they are in the JSON document, operators and phases also as
    narrow tables have them; each text is looked at once.

    Raises UsageError where the pattern is no regular expression.
    """

    def __init__(self, trace: Trace, pattern: str) -> None:
        self._search = compiled(pattern).search
        self._strings = trace.recording[Strings]
        self._signature = self._table(trace.signature(at) for at in range(len(trace.recording[Signatures])))
        frames = range(len(trace.recording[Frames]))
        self._line = self._table(_text(trace.line(frame)) for frame in frames)
        self._module = self._table(trace.module_texts)
        self._phase = self._table(phase.name.lower() for phase in Phase)
        self._phase |= self._table(SHORT_PHASES[phase] for phase in Phase)
        self._operator: dict[tuple[int, int], bool] = {}

    def matching(self, rows: Sums | LinkedOperators) -> Mask:
        """Which of the rows match."""
        found = self._operators(rows.name, rows.overload) | self._signature[rows.signature]
        found |= self._line[rows.frame] | self._line[rows.forward_frame]
        return np.asarray(found | self._module[rows.module] | self._phase[rows.phase])

    def _table(self, texts: Iterable[str | None]) -> Mask:
        """Whether the text of each id matches, with one more entry for -1."""
        found = [text is not None and self._search(text) is not None for text in texts]
        return np.array([*found, False], np.bool_)

    def _operators(self, name: Int32, overload: Int32) -> Mask:
        pairs, place = np.unique((name.astype(np.int64) << 32) + overload, return_inverse=True)
        overloads = pairs.astype(np.int32)  # the lower half, with its sign
        names = (pairs - overloads) >> 32
        found = [self._is_meant(pair) for pair in zip(names.tolist(), overloads.tolist(), strict=True)]
        return np.asarray(np.array(found, np.bool_)[place.reshape(-1)])

    def _is_meant(self, pair: tuple[int, int]) -> bool:
        if pair not in self._operator:
            name, overload = (self._strings[at] if at >= 0 else "" for at in pair)
            names = (name, shown_name(name, narrow=True))
            texts = (f"{text}.{overload}" if overload else text for text in names)
            self._operator[pair] = any(self._search(text) for text in texts)
        return self._operator[pair]


def _text(line: Line | None) -> str | None:
    return None if line is None else f"{line.file}:{line.line} in {line.function}"
