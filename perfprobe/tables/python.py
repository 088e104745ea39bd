"""Python functions: what was recorded of them, and the one calling structure that merge makes of it.

A function's code is known by (file, first line, qualified name); a C function has only a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from perfprobe.tables.columns import Int8, Int32, Int64, Table


class Look(IntEnum):
    """What the sampler saw when it looked at a thread."""

    READ = 0
    NO_PYTHON = 1  # the thread has no Python frames
    FAILED = 2  # its frames changed while they were read, as often as it was tried


class Origin(IntEnum):
    """Whose code a file is, the best to show to the user first."""

    USER = 0
    LIBRARY = 1
    STDLIB = 2
    TORCH = 3
    PERFPROBE = 4


@dataclass(frozen=True)
class Functions(Table):
    """Functions as cProfile counted them on one thread, as recorded.

    snapshot: cProfile is read several times in a long run; only the rows of the last one read count, and
    each is whole. file: string id, -1 for a C function; function: string id of the qualified name, for a C
    function of what cProfile calls it (`<method 'append' of 'list' objects>`); first_line: 0 for those.
    primitive_calls: those that were not recursive. own_ns: without the functions it called; total_ns: with
    them, of recursive calls the outermost only.
    """

    snapshot: Int32
    thread: Int32
    file: Int32
    function: Int32
    first_line: Int32
    calls: Int64
    primitive_calls: Int64
    own_ns: Int64
    total_ns: Int64


@dataclass(frozen=True)
class Calls(Table):
    """Which function called which, as recorded.

    caller, callee: rows of `functions`, counted from the first one of the same snapshot. Figures: of the
    callee, as far as this caller called it.
    """

    snapshot: Int32
    caller: Int32
    callee: Int32
    calls: Int64
    primitive_calls: Int64
    own_ns: Int64
    total_ns: Int64


@dataclass(frozen=True)
class Samples(Table):
    """Where a thread's Python was, as recorded: it stands for the time from start_ns to end_ns.

    end_ns: when the sampler looked; start_ns: when it last looked at this thread before, or the thread was
    first seen. Looks in a row between which the thread did not run are one row. stack: as that of operators,
    without modules; -1 where `look` is not READ. cpu_ns: CPU time of the thread in between, -1 not known.
    looks: how many times it was looked at, and would have been while it stood still and the sampler rested.
    0: not again since start_ns, when it was there; by its CPU time it had gone elsewhere by end_ns.
    """

    start_ns: Int64
    end_ns: Int64
    thread: Int32
    stack: Int32
    look: Int8
    looks: Int32
    cpu_ns: Int64


@dataclass(frozen=True)
class Code(Table):
    """Functions, each once: file (string id, -1 for a C function), function (string id), origin: an `Origin`.

    C functions are never Origin.USER: a library's, or the standard library's where they are built in.
    """

    file: Int32
    function: Int32
    first_line: Int32
    origin: Int8


@dataclass(frozen=True)
class Counted(Table):
    """cProfile's figures, all threads together, by function, without perfprobe's. code: row of `Code`."""

    code: Int32
    calls: Int64
    primitive_calls: Int64
    own_ns: Int64
    total_ns: Int64


@dataclass(frozen=True)
class CountedCalls(Table):
    """cProfile's figures by caller and callee, both rows of `Code`; caller -1: perfprobe, or not known."""

    caller: Int32
    callee: Int32
    calls: Int64
    primitive_calls: Int64
    own_ns: Int64
    total_ns: Int64


@dataclass(frozen=True)
class PythonCode:
    """The calling structure, as far as it is known without reading the operators.

    of_stack: for every stack the row of `code` that its innermost frame runs, -1 for perfprobe's own frames
    and all outside of them (the launcher), and for the row that stands for other stacks; one more entry, -1,
    for "no stack". samples: as recorded, in the order of the file.
    """

    code: Code
    of_stack: Int32
    counted: Counted
    counted_calls: CountedCalls
    samples: Samples


@dataclass(frozen=True)
class SampledStacks(Table):
    """Time by samples: one row for each thread, stack, and operator that was running there.

    thread: row of `threads`. stack: -1 where no Python was read, then `look` says why. name, overload,
    signature, phase: of the innermost operator that was running (`self` time is what falls to it), -1 for
    none; forward_stack: in backward, the stack of the forward call that its node belongs to, else -1.
    time_ns: as far as it lies between the program's start and its stop; cpu_ns: -1 not known.
    """

    thread: Int32
    stack: Int32
    look: Int8
    name: Int32
    overload: Int32
    signature: Int32
    phase: Int8
    forward_stack: Int32
    looks: Int64
    time_ns: Int64
    cpu_ns: Int64


@dataclass(frozen=True)
class OperatorSites(Table):
    """Operator time as measured, by the stack it hangs under.

    stack: the operator's own, in backward that of the forward call its node belongs to, where it is known and
    no Python of the user's ran in backward (a hook, a recomputation); -1 none. name, overload: string ids;
    signature: the first one of that text; phase: a `Phase`. Ranges are left out. gpu_self_ns: time on GPUs of
    what the operators launched themselves, without CUDA graphs; -1 not recorded.
    """

    stack: Int32
    name: Int32
    overload: Int32
    signature: Int32
    phase: Int8
    calls: Int64
    self_ns: Int64
    gpu_self_ns: Int64


@dataclass(frozen=True)
class FunctionRows(Table):
    """One row for each function that was counted, sampled, or called operators.

    -1: not known, not measured; so are times by samples and operators of C functions, which no stack holds.
    code: row of `Code`. calls, primitive_calls, counted_own_ns, counted_total_ns: by cProfile. own_ns,
    total_ns: by samples where there are any, else by cProfile; own: without Python functions it called (by
    cProfile also without C functions), total: of recursive calls the outermost only. neither_ns: the part of
    own_ns that passed in no operator. operator_calls, operator_own_ns: operators called from the function
    itself; forward_own_ns ... other_own_ns: their time by phase; operator_total_ns and ..._total_ns: from it
    and from what it called. Backward operators count where the forward call was made.
    """

    code: Int32
    calls: Int64
    primitive_calls: Int64
    counted_own_ns: Int64
    counted_total_ns: Int64
    own_ns: Int64
    total_ns: Int64
    neither_ns: Int64
    operator_calls: Int64
    operator_own_ns: Int64
    operator_total_ns: Int64
    forward_own_ns: Int64
    backward_own_ns: Int64
    recompute_own_ns: Int64
    other_own_ns: Int64
    forward_total_ns: Int64
    backward_total_ns: Int64
    recompute_total_ns: Int64
    other_total_ns: Int64


@dataclass(frozen=True)
class FunctionCalls(Table):
    """Which function called which. caller, callee: rows of `Code`; caller -1: nothing above it was seen.

    calls: by cProfile; total_ns: the callee's total time as far as it was called from there, by samples where
    there are any, else by cProfile; counted_total_ns: by cProfile; operator_total_ns: operators called below.
    -1: not known.
    """

    caller: Int32
    callee: Int32
    calls: Int64
    total_ns: Int64
    counted_total_ns: Int64
    operator_total_ns: Int64


@dataclass(frozen=True)
class ThreadTimes(Table):
    """What the samples of each thread add up to, or, without a sampler, what cProfile's own times do.

    thread: row of `threads`; wall_ns: from when it was first seen (the main thread: from the program's start)
    to when it was last seen (to its stop). own_ns: own times of its functions; perfprobe_ns: in perfprobe's
    own code outside of the program; no_python_ns, failed_ns: see `Look`, the latter with stacks beyond the
    limit of those kept; cpu_ns: CPU time in all of it. -1 not known. By samples these four add up to all of
    their time: what wall_ns has more passed before the first look or after the last one.
    """

    thread: Int32
    wall_ns: Int64
    own_ns: Int64
    perfprobe_ns: Int64
    no_python_ns: Int64
    failed_ns: Int64
    cpu_ns: Int64


@dataclass(frozen=True)
class Calling:
    """Python functions and operators as one calling structure, as far as they were recorded.

    Operators recorded with stacks are enough: without cProfile and sampler what only they know is -1.
    by_samples: whether own_ns and total_ns are the sampler's (else cProfile's). counts_end_ns: when cProfile
    stopped before the program did, None when it did not or was not used. sampled_of: for every row of
    `python.samples` the row of `sampled` that it is part of, None where that is not known.
    """

    python: PythonCode
    functions: FunctionRows
    calls: FunctionCalls
    sampled: SampledStacks
    sites: OperatorSites
    threads: ThreadTimes
    by_samples: bool
    counts_end_ns: int | None
    sampled_of: Int32 | None = None
