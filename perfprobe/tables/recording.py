"""A `Recording`: what the collectors saw, each separately, as saved on disk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int32, Int64, Mask, SomeTable, Table
from perfprobe.tables.events import Losses, Operators, Threads
from perfprobe.tables.memory import MemoryBlocks

OperatorSource: TypeAlias = Callable[[Sequence[str]], Iterator[dict[str, npt.NDArray[Any]]]]

_LARGEST_NUMBER = 2**63


@frozen
class Recording:
    """Tables and meta in memory; operators and rows of memory are streamed.

    Attributes:
        tables: by class, see `__getitem__`.
        complete: whether its writer closed it.
        last_ns: time of the last flush; -1 if not known.
        stopped_at: why reading ended before the end of the file; None if it did not.
        operator_rows: number of rows that `operators` yields.
        damaged: number of invalid ids of operators, by column. Reading operators fills it.
        memory: the rows of memory; None if there are none.
    """

    path: str
    tables: Mapping[type[Table], Table]
    meta: Mapping[str, Any]
    complete: bool
    last_ns: int
    stopped_at: str | None
    operator_rows: int
    source: OperatorSource
    autograd_source: OperatorSource | None = None
    damaged: dict[str, int] = field(default_factory=dict)
    memory: MemoryBlocks | None = None

    def __getitem__(self, kind: type[SomeTable]) -> SomeTable:
        """Returns the table of this class, `recording[Kernels]`; without rows if nothing was recorded."""
        table = self.tables.get(kind)
        return table if isinstance(table, kind) else kind.empty()

    def rows(self, *kinds: type[Table]) -> int:
        """Returns the number of rows of these tables together."""
        return sum(len(self[kind]) for kind in kinds)

    def autograd_operators(self, columns: Sequence[str]) -> Iterator[Operators]:
        """Yields what the autograd profiler recorded beside the observer, like `operators`."""
        return iter(()) if self.autograd_source is None else self._rows(self.autograd_source, columns)

    def operators(self, columns: Sequence[str] | None = None) -> Iterator[Operators]:
        """Yields the operators in the order of the file, in batches of 1 to 262,144 rows.

        Rows have only the requested columns. Invalid ids become -1 and are counted in `damaged`. Raises
        InputError if the file can no longer be read or decoded.
        """
        return self._rows(self.source, list(Operators.dtypes) if columns is None else list(columns))

    def _rows(self, source: OperatorSource, wanted: Sequence[str]) -> Iterator[Operators]:
        references = Operators.references()
        limits = {name: len(self[references[name]]) for name in wanted if name in references}
        damaged = dict.fromkeys(limits, 0)
        for batch in source(wanted):
            for name, limit in limits.items():
                batch[name], strays = in_range(batch[name], limit)
                damaged[name] += strays
            rows = Operators.part(batch)
            if len(rows):
                yield rows
        self.damaged.update(damaged)

    def main_thread(self) -> Mask:
        """A mask of the rows of `threads` that are the process's main thread, whose number is the PID.

        All False if it is not known. One more entry is for no thread.
        """
        process = self.number("program", "pid")
        os_thread = np.append(self[Threads].os_thread, np.int64(-1))
        return np.asarray((os_thread > 0) & (os_thread == (-1 if process is None else process)))

    def os_threads(self) -> Int64:
        """Returns for each row of `threads` a number that rows of one thread share. Last: -1, no thread."""
        own = -2 - np.arange(len(self[Threads]), dtype=np.int64)
        os_thread = self[Threads].os_thread
        return np.append(np.where(os_thread > 0, os_thread, own), np.int64(-1))

    def fact(self, *keys: str) -> Any:
        """Returns the meta value at this path of keys; None if there is none."""
        value: Any = self.meta
        for key in keys:
            if not isinstance(value, Mapping):
                return None
            value = value.get(key)
        return value

    def rank_fact(self, name: str) -> int | None:
        """Returns `rank` or `world_size`, as set by torchrun or a trace; None if it is not set."""
        value = self.fact("rank", name)
        value = self.fact("trace", name) if value is None else value
        return value if type(value) is int and value >= 0 else None

    @property
    def is_trace(self) -> bool:
        """Whether it was read from a trace of torch.profiler, which has no samples and fewer facts."""
        return self.fact("trace") is not None

    @property
    def is_profile(self) -> bool:
        """Whether it was read from a profile of cProfile, which has functions only."""
        return self.fact("pstats") is not None

    def number(self, *keys: str) -> int | float | None:
        """Returns the meta value at this path if it is a number of plausible size, else None."""
        value = self.fact(*keys)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        sensible = -_LARGEST_NUMBER < value < _LARGEST_NUMBER and math.isfinite(value)
        return value if sensible else None

    def text(self, *keys: str) -> str | None:
        """Returns the meta value at this path if it is text, else None."""
        value = self.fact(*keys)
        return value if isinstance(value, str) else None

    def texts(self, *keys: str) -> list[str]:
        """Returns the texts at this path: of a list, a single one, or none."""
        value = self.fact(*keys)
        return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]

    @property
    def is_benchmark(self) -> bool:
        """Whether nothing but steps was recorded."""
        return bool(self.fact("recording", "benchmark"))

    @property
    def is_kept(self) -> bool:
        """Whether it was recorded with `--keep slow`."""
        return self.text("recording", "keep") == "slow"

    @property
    def counts_ended_ns(self) -> float | None:
        """When counting ended early, or for a killed program when counts were last written; else None."""
        ended_ns = self.number("cprofile", "ended_ns")
        return self.counts_cut_ns if ended_ns is None else ended_ns

    @property
    def slowed_until_ns(self) -> int:
        """Until when counting calls slowed the program, if it was ended because of that; else 0."""
        ended_ns = self.number("cprofile", "ended_ns")
        is_reason = self.text("cprofile", "reason") == "too costly"
        return int(ended_ns) if is_reason and ended_ns is not None else 0

    @property
    def counts_cut_ns(self) -> int | None:
        """When cProfile's counts were last written, for a program that was killed or ended by `os._exit`."""
        ended = (
            self.number("stop", "monotonic_ns") is not None or self.number("cprofile", "ended_ns") is not None
        )
        until_ns = self.number("cprofile", "counted_until_ns")
        return None if ended or until_ns is None else int(until_ns)

    @property
    def counts_lost(self) -> bool:
        """Whether calls of such a program were counted, but no counts were written."""
        counted = self.text("recording", "python") in ("both", "cprofile")
        left_out = "cprofile" in self[Losses].source.tolist()
        return counted and not (self.complete or left_out or self.fact("cprofile") is not None)


def in_range(ids: Int32, limit: int | Int32) -> tuple[Int32, int]:
    """Returns the ids with -1 for each that is not in 0 .. limit - 1, and how many of these were not -1."""
    if len(ids) == 0:
        return ids, 0
    if isinstance(limit, int) and int(ids.min()) >= -1 and int(ids.max()) < limit:
        return ids, 0
    strays = (ids < -1) | (ids >= limit)
    return np.where(strays, -1, ids).astype(np.int32), int(np.count_nonzero(strays))
