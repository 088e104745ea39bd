"""Tables of functions and calls written by hand, for the sections that show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.tables.columns import Table
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import (
    CallStructure,
    Code,
    Counted,
    CountedCalls,
    FunctionCalls,
    FunctionRows,
    ImportStacks,
    OperatorSites,
    Origin,
    PythonCode,
    SampledStacks,
    Samples,
    ThreadSums,
)
from tests.build import Program
from tests.report.test_text import findings

SomeTable = TypeVar("SomeTable", bound=Table)


def table(kind: type[SomeTable], rows: Sequence[Mapping[str, int]]) -> SomeTable:
    """Rows of a table. Values that are not given are -1."""
    columns = {
        name: np.array([row.get(name, -1) for row in rows], dtype) for name, dtype in kind.dtypes.items()
    }
    return kind(**columns)


@dataclass
class Made:
    """Adds functions one by one; a C function is named as by cProfile."""

    program: Program
    by_samples: bool = True
    counts_end_ns: int | None = None
    code: list[dict[str, int]] = field(default_factory=list)
    rows: list[dict[str, int]] = field(default_factory=list)
    edges: list[dict[str, int]] = field(default_factory=list)
    samples: list[dict[str, int]] = field(default_factory=list)
    sampled: list[dict[str, int]] = field(default_factory=list)
    threads: list[dict[str, int]] = field(default_factory=list)
    stacks: dict[int, int] = field(default_factory=dict)

    def function(self, place: str, **figures: int) -> int:
        """Adds a function with its figures: "text.py:8 main"; "<built-in method len>".

        Further than those of `FunctionRows`: origin; looks: the number of samples; cpu_ns: their CPU time.
        """
        origin, looks = figures.pop("origin", Origin.USER), figures.pop("looks", 0)
        stack = -1 if place.startswith("<") else self.program.stack(place)
        self.stacks[stack] = len(self.code)
        sample = {"stack": stack, "look": 0, "looks": looks, "cpu_ns": figures.pop("cpu_ns", -1)}
        sample["time_ns"] = figures.get("neither_ns", 0)
        self.sampled += [sample] if looks else []
        where, _, name = place.partition(" ")
        file, _, line = where.rpartition(":")
        is_c = place.startswith("<")
        at = len(self.code)
        self.code.append(
            {
                "file": -1 if is_c else self.program.string(file),
                "function": self.program.string(place if is_c else name),
                "first_line": 0 if is_c else int(line),
                "origin": origin,
            }
        )
        if "calls" in figures:
            figures.setdefault("primitive_calls", figures["calls"])
        self.rows.append({"code": at, **figures})
        return at

    def findings(self, folder: Path, **meta: Any) -> Findings:
        self.program.meta.update(meta)
        found = findings(self.program.recording(folder))
        of_stack = np.full(max(self.stacks, default=0) + 2, -1, np.int32)
        of_stack[list(self.stacks)] = list(self.stacks.values())
        of_stack[-1] = -1
        python = PythonCode(
            code=table(Code, self.code),
            of_stack=of_stack,
            counted=table(Counted, [row for row in self.rows if row.get("calls", -1) >= 0]),
            counted_calls=CountedCalls.empty(),
            samples=table(Samples, self.samples),
            imports=ImportStacks(*(np.full(len(of_stack), -1, np.int32) for _ in range(2))),
        )
        structure = CallStructure(
            python=python,
            functions=table(FunctionRows, self.rows),
            calls=table(FunctionCalls, self.edges),
            sampled=table(SampledStacks, [{"own_ns": row["time_ns"], **row} for row in self.sampled]),
            sites=OperatorSites.empty(),
            threads=table(ThreadSums, self.threads),
            by_samples=self.by_samples,
            counts_end_ns=self.counts_end_ns,
        )
        return diagnosed(found.plus(structure))
