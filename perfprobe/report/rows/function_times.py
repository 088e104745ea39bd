"""Times of Python functions by the sampler or cProfile: columns with a value for each row of a table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.python import CallStructure, FunctionRows, Look, SampledStacks


def only_counted(structure: CallStructure, rows: FunctionRows) -> Mask:
    """Returns which rows have times of cProfile that their callers' sampled times include: C functions."""
    is_c = structure.python.code.file[rows.code] < 0
    return np.asarray(is_c & (rows.own_ns < 0) & (rows.counted_own_ns >= 0))


def self_ns(structure: CallStructure, rows: FunctionRows) -> Int64:
    """Self time of each row as shown, in ns, -1 if not known."""
    return np.where(only_counted(structure, rows), rows.counted_own_ns, rows.own_ns)


def ranked_ns(structure: CallStructure, rows: FunctionRows) -> Int64:
    """Self time without imports of libraries, and without waiting on threads other than the main one."""
    found = self_ns(structure, rows)
    left_out_ns = np.maximum(rows.importing_ns, 0) + np.maximum(rows.idle_ns, 0)
    return np.where(only_counted(structure, rows), found, found - left_out_ns)


def total_ns(structure: CallStructure, rows: FunctionRows) -> Int64:
    """Total time of each row, with what the functions called, in ns, -1 if not known."""
    return np.where(only_counted(structure, rows), rows.counted_total_ns, rows.total_ns)


def cpu_ns(structure: CallStructure, rows: FunctionRows) -> Int64:
    """CPU time of each function without those it called, by samples, in ns; -1 if not recorded."""
    known = structure.sampled.take((structure.sampled.cpu_ns >= 0) & (structure.sampled.look == Look.READ))
    return _sums(structure, rows, known, known.cpu_ns, -1)


def looks(structure: CallStructure, rows: FunctionRows) -> Int64:
    """Returns how many samples show each function running."""
    known = structure.sampled.take(structure.sampled.look == Look.READ)
    return _sums(structure, rows, known, known.looks, 0)


def _sums(
    structure: CallStructure, rows: FunctionRows, sampled: SampledStacks, figures: Int64, without: int
) -> Int64:
    """Sums by function. without: the value for functions without any rows."""
    code = structure.python.of_stack[sampled.stack]
    sums = np.full(len(structure.python.code) + 1, without, np.int64)  # the last entry: no function
    sums[code] = 0
    np.add.at(sums, code, figures)
    return np.asarray(sums[rows.code])


def has_operators(structure: CallStructure) -> bool:
    """Whether any operators are known to have run in the functions."""
    return bool((structure.functions.operator_calls > 0).any())


def sample_ns(structure: CallStructure) -> int:
    """Returns how much time one sample stands for in ns, 0 without samples."""
    samples = structure.python.samples
    if not structure.by_samples or len(samples) == 0:
        return 0
    return int((samples.end_ns - samples.start_ns).sum()) // max(int(samples.looks.sum()), 1)


def by_cprofile(structure: CallStructure) -> CallStructure:
    """Returns the times with cProfile's instead of sampled ones; without times if cProfile stopped early."""
    rows = structure.functions
    is_whole = structure.counts_end_ns is None
    self_ns, total_ns = rows.counted_own_ns, rows.counted_total_ns
    rows = replace(
        rows,
        own_ns=self_ns,
        total_ns=total_ns,
        neither_ns=np.full(len(rows), -1, np.int64),
    )
    rows = rows.take((self_ns >= 0) & is_whole)
    return replace(structure, functions=rows, sampled=SampledStacks.empty(), by_samples=False)
