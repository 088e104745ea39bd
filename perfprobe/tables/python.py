"""Python functions: what was recorded of them, and the call structure that merge makes of it.

A function is identified by (file, first line, qualified name). A C function only has a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Signatures, Threads
from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.strings import Strings


class Look(IntEnum):
    """The result of a sample of a thread."""

    READ = 0
    NO_PYTHON = 1  # the thread has no Python frames
    FAILED = 2  # its frames changed while they were read, in every attempt


class Origin(IntEnum):
    """The origin of a file of code, the most useful for the user first."""

    USER = 0
    LIBRARY = 1
    STDLIB = 2
    TORCH = 3
    PERFPROBE = 4


class Functions(Table, name="functions"):
    """Functions as cProfile counted them on one thread.

    In a long run cProfile is read several times. Each reading is complete, and only the last one counts.
    """

    snapshot: Int32 = column("the reading of cProfile that the row belongs to")
    thread: Int32 = column("the thread it ran on", Threads)
    file: Int32 = column("the code's file, -1 for a C function", Strings)
    function: Int32 = column("the qualified name; for a C function cProfile's name", Strings)
    first_line: Int32 = column("the line at which it begins, 0 for a C function")
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    primitive_calls: Int64 = column("number of calls that were not recursive", combine=Combine.SUM)
    own_ns: Int64 = column("time without the functions it called", combine=Combine.SUM)
    total_ns: Int64 = column(
        "time with the functions it called; of recursive calls only the outermost", combine=Combine.SUM
    )


class Calls(Table, name="calls"):
    """Which function called which. Figures are of the callee, for calls by this caller."""

    snapshot: Int32 = column("the reading of cProfile that the row belongs to")
    caller: Int32 = column("the caller, counted from the first row of the same snapshot", Functions)
    callee: Int32 = column("the callee, counted from the first row of the same snapshot", Functions)
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    primitive_calls: Int64 = column("number of calls that were not recursive", combine=Combine.SUM)
    own_ns: Int64 = column("time without the functions it called", combine=Combine.SUM)
    total_ns: Int64 = column(
        "time with the functions it called; of recursive calls only the outermost", combine=Combine.SUM
    )


class WaitsFor(IntEnum):
    """What a thread waited for, by its system call."""

    OTHER = 0  # it ran, slept, or waited for something else
    MESSAGE = 1  # on a socket, a pipe or a terminal
    THREAD = 2  # a futex, such as that of a queue
    LOCK = 3  # Python's global lock


class Samples(Table, name="samples", most_rows=4_194_304):
    """Where a thread was in Python, from start_ns to end_ns.

    Samples between which the thread did not run are one row. In a long run the sampler looks less often, to
    stay below the limit of rows. `looks` is 0 if the thread was here at start_ns, and by its CPU time had
    moved on before the next look at end_ns.
    """

    start_ns: Int64 = column("time of the previous look at this thread, or when it was first seen")
    end_ns: Int64 = column("time of the look")
    thread: Int32 = column("the thread", Threads)
    stack: Int32 = column("the Python stack, without modules; -1 if `look` is not READ", Stacks)
    look: Int8 = column("a `Look`")
    looks: Int32 = column(
        "number of looks, including those skipped while the thread stood still", combine=Combine.SUM
    )
    cpu_ns: Int64 = column("CPU time of the thread in between", combine=Combine.SUM, optional=True)
    lock_looks: Int32 = column(
        "number of looks that found the thread waiting for Python's global lock",
        combine=Combine.SUM,
        optional=True,
    )
    wait_ns: Int64 = column(
        "time in which the thread could run but had no processor, by the scheduler",
        combine=Combine.SUM,
        optional=True,
    )
    clock_ns: Int64 = column("CPU clock of the thread at the last look", optional=True)
    waits_for: Int8 = column(
        "a `WaitsFor`: where the last look found the thread in the kernel", optional=True
    )


class Code(Table):
    """Functions, each once.

    C functions are never Origin.USER: they belong to a library, or if built in to the standard library.
    """

    file: Int32 = column("the code's file, -1 for a C function", Strings)
    function: Int32 = column("the qualified name", Strings)
    first_line: Int32 = column("the line at which it begins, 0 for a C function")
    origin: Int8 = column("an `Origin`")


class Counted(Table):
    """cProfile's figures by function, for all threads together, without perfprobe's functions."""

    code: Int32 = column("the function", Code)
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    primitive_calls: Int64 = column("number of calls that were not recursive", combine=Combine.SUM)
    own_ns: Int64 = column("time without the functions it called", combine=Combine.SUM)
    total_ns: Int64 = column(
        "time with the functions it called; of recursive calls only the outermost", combine=Combine.SUM
    )


class CountedCalls(Table):
    """cProfile's figures by caller and callee."""

    caller: Int32 = column("the caller, -1 if it is perfprobe or not known", Code)
    callee: Int32 = column("the callee that the figures describe", Code)
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    primitive_calls: Int64 = column("number of calls that were not recursive", combine=Combine.SUM)
    own_ns: Int64 = column("time without the functions it called", combine=Combine.SUM)
    total_ns: Int64 = column(
        "time with the functions it called; of recursive calls only the outermost", combine=Combine.SUM
    )


class ImportStacks(NamedTuple):
    """Two stacks for each stack that is part of an import; -1 for others. The last entry is for no stack.

    Attributes:
        importer: the stack that imports.
        body: the stack that runs the imported module's code; -1 if not known.
    """

    importer: Int32
    body: Int32


@frozen
class PythonCode:
    """The call structure that is known without reading the operators.

    Attributes:
        of_stack: for every stack the row of `code` that its innermost frame runs; -1 for frames of perfprobe,
            for the launcher's frames around them, and for the row that stands for other stacks. The last
            entry, -1, is for no stack.
        samples: as recorded, in the order of the file.
        imports: the import that each stack is part of.
        packages: for every row of `code` its installed package (`torch`, `transformers`); "" for other code.
    """

    code: Code
    of_stack: Int32
    counted: Counted
    counted_calls: CountedCalls
    samples: Samples
    imports: ImportStacks
    packages: Sequence[str] = ()


class SampledStacks(Table):
    """Time by samples: one row for each thread, stack, and operator that ran."""

    thread: Int32 = column("the thread", Threads)
    stack: Int32 = column("the Python stack, -1 if none was read, for the reason in `look`", Stacks)
    look: Int8 = column("a `Look`")
    name: Int32 = column("the innermost operator that was running, which has the self time", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)
    phase: Int8 = column("its `Phase`, -1 if none")
    looks: Int64 = column("number of looks", combine=Combine.SUM)
    time_ns: Int64 = column(
        "time of the samples between the program's start and its stop", combine=Combine.SUM
    )
    cpu_ns: Int64 = column("CPU time of the thread in that time", combine=Combine.SUM, optional=True)
    own_ns: Int64 = column("that time without what the thread waited for a processor", combine=Combine.SUM)


class Imports(Table):
    """Imports of libraries by what imported them and what they ran, by samples."""

    importer: Int32 = column("the stack that imports", Stacks)
    body: Int32 = column("the stack that runs the code of the imported module, -1 if not seen", Stacks)
    time_ns: Int64 = column("duration, including all that it imported in turn", combine=Combine.SUM)
    cpu_ns: Int64 = column("CPU time in it, of samples that have CPU time", combine=Combine.SUM)
    own_ns: Int64 = column("duration without what the thread waited for a processor", combine=Combine.SUM)


class OperatorSites(Table):
    """Measured operator time by the stack that called the operators, without ranges."""

    stack: Int32 = column(
        "its own stack; in backward that of the forward call, unless the user's Python ran there (a hook)",
        Stacks,
    )
    name: Int32 = column("its name", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs: the first signature with this text", Signatures)
    phase: Int8 = column("a `Phase`")
    thread: Int32 = column("the thread", Threads)
    own_stack: Int32 = column("its own stack, in backward too", Stacks)
    frame: Int32 = column("the user's line", Frames)
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    self_ns: Int64 = column("time in the operators themselves", combine=Combine.SUM)
    gpu_self_ns: Int64 = column(
        "GPU time of what they launched themselves, without CUDA graphs", combine=Combine.SUM, optional=True
    )


class FunctionRows(Table):
    """One row for each function that was counted, sampled, or called operators.

    -1 means not known or not measured. This includes times by samples and operators of C functions, which no
    stack contains. Times are by samples if there are any, else by cProfile. Operators are those called by the
    function itself (own), or also by what it called (total). Operators in backward count at the forward call.
    """

    code: Int32 = column("the function", Code)
    calls: Int64 = column("number of calls, by cProfile", combine=Combine.SUM, optional=True)
    primitive_calls: Int64 = column(
        "number of calls that were not recursive", combine=Combine.SUM, optional=True
    )
    counted_own_ns: Int64 = column("own_ns by cProfile", combine=Combine.SUM, optional=True)
    counted_total_ns: Int64 = column("total_ns by cProfile", combine=Combine.SUM, optional=True)
    own_ns: Int64 = column(
        "time without the Python functions it called; by cProfile also without C functions",
        combine=Combine.SUM,
        optional=True,
    )
    total_ns: Int64 = column(
        "time with the functions it called; of recursive calls only the outermost",
        combine=Combine.SUM,
        optional=True,
    )
    neither_ns: Int64 = column("the part of own_ns outside of operators", combine=Combine.SUM, optional=True)
    importing_ns: Int64 = column(
        "the part of own_ns in imports of libraries", combine=Combine.SUM, optional=True
    )
    idle_ns: Int64 = column(
        "the part of own_ns in which a thread other than the main one waited",
        combine=Combine.SUM,
        optional=True,
    )
    operator_calls: Int64 = column("number of operators that it called", combine=Combine.SUM, optional=True)
    operator_own_ns: Int64 = column("time of these operators", combine=Combine.SUM, optional=True)
    operator_total_ns: Int64 = column(
        "time of operators that it and functions below it called", combine=Combine.SUM, optional=True
    )
    forward_own_ns: Int64 = column("operator_own_ns in forward", combine=Combine.SUM, optional=True)
    backward_own_ns: Int64 = column("operator_own_ns in backward", combine=Combine.SUM, optional=True)
    recompute_own_ns: Int64 = column("operator_own_ns in recomputation", combine=Combine.SUM, optional=True)
    other_own_ns: Int64 = column("operator_own_ns in other phases", combine=Combine.SUM, optional=True)
    forward_total_ns: Int64 = column("operator_total_ns in forward", combine=Combine.SUM, optional=True)
    backward_total_ns: Int64 = column("operator_total_ns in backward", combine=Combine.SUM, optional=True)
    recompute_total_ns: Int64 = column(
        "operator_total_ns in recomputation", combine=Combine.SUM, optional=True
    )
    other_total_ns: Int64 = column("operator_total_ns in other phases", combine=Combine.SUM, optional=True)


class FunctionCalls(Table):
    """Which function called which. -1 means not known."""

    caller: Int32 = column("the caller, -1 if none was seen", Code)
    callee: Int32 = column("the callee that the figures describe", Code)
    calls: Int64 = column("number of calls, by cProfile", combine=Combine.SUM, optional=True)
    total_ns: Int64 = column(
        "total time of the callee when called from there, by samples if there are any, else by cProfile",
        combine=Combine.SUM,
        optional=True,
    )
    counted_total_ns: Int64 = column("the same by cProfile", combine=Combine.SUM, optional=True)
    operator_total_ns: Int64 = column("time of operators called below", combine=Combine.SUM, optional=True)


class ThreadSums(Table):
    """The sum of each thread's samples, or, without a sampler, of cProfile's own times.

    By samples own_ns, perfprobe_ns, no_python_ns and failed_ns add up to the time of all samples. wall_ns
    also has the time before the first sample and after the last. -1 means not known.
    """

    thread: Int32 = column("the thread", Threads)
    wall_ns: Int64 = column(
        "from the first look at it to the last; for the main thread from the program's start to its stop"
    )
    own_ns: Int64 = column("sum of the own times of its functions", combine=Combine.SUM, optional=True)
    perfprobe_ns: Int64 = column(
        "time in perfprobe's own code outside of the program", combine=Combine.SUM, optional=True
    )
    no_python_ns: Int64 = column("time without Python frames", combine=Combine.SUM, optional=True)
    failed_ns: Int64 = column(
        "time in which frames could not be read, or the stack was beyond the limit",
        combine=Combine.SUM,
        optional=True,
    )
    cpu_ns: Int64 = column("CPU time in all of it", combine=Combine.SUM, optional=True)


@frozen
class CallStructure:
    """Python functions and operators as one call structure.

    Operators recorded with stacks are enough. What only cProfile or the sampler knows is then -1.

    Attributes:
        by_samples: whether own_ns and total_ns are the sampler's, else cProfile's.
        counts_end_ns: when cProfile stopped before the program did; None if it did not or was not used.
        imports: of libraries.
    """

    python: PythonCode
    functions: FunctionRows
    calls: FunctionCalls
    sampled: SampledStacks
    sites: OperatorSites
    threads: ThreadSums
    by_samples: bool
    counts_end_ns: int | None
    imports: Imports = field(default_factory=Imports.empty)

    @property
    def threads_ns(self) -> int:
        """Python time of all threads in ns; 0 if only one thread ran Python."""
        several = [time_ns for time_ns in self.threads.own_ns.tolist() if time_ns > 0]
        return min(sum(several), np.iinfo(np.int64).max) if len(several) > 1 else 0
