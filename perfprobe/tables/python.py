"""Python functions: what was recorded of them, and the one calling structure that merge makes of it.

A function is identified by (file, first line, qualified name); a C function has only a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import IntEnum
from typing import NamedTuple

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Signatures, Threads
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.strings import Strings


class Look(IntEnum):
    """The result of a sample of a thread."""

    READ = 0
    NO_PYTHON = 1  # the thread has no Python frames
    FAILED = 2  # its frames changed while they were read, in all attempts


class Origin(IntEnum):
    """Whose code a file is; the most useful for the user first."""

    USER = 0
    LIBRARY = 1
    STDLIB = 2
    TORCH = 3
    PERFPROBE = 4


class Functions(Table, name="functions"):
    """Functions as cProfile counted them on one thread, as recorded.

    cProfile is read several times in a long run; only the rows of the last snapshot count, and each is whole.
    """

    snapshot: Int32 = column("the reading of cProfile that the row is of")
    thread: Int32 = column("where it ran", Threads)
    file: Int32 = column("the code's file, -1 for a C function", Strings)
    function: Int32 = column("the qualified name; what cProfile calls a C function", Strings)
    first_line: Int32 = column("the line at which it begins, 0 for a C function")
    calls: Int64 = column("how many", combine=Combine.SUM)
    primitive_calls: Int64 = column("those that were not recursive", combine=Combine.SUM)
    own_ns: Int64 = column("time without the functions it called", combine=Combine.SUM)
    total_ns: Int64 = column("with them, of recursive calls the outermost only", combine=Combine.SUM)


class Calls(Table, name="calls"):
    """Which function called which, as recorded; figures of the callee for calls by this caller."""

    snapshot: Int32 = column("the reading of cProfile that the row is of")
    caller: Int32 = column("counted from the first row of the same snapshot", Functions)
    callee: Int32 = column("counted from the first row of the same snapshot", Functions)
    calls: Int64 = column("how many", combine=Combine.SUM)
    primitive_calls: Int64 = column("those that were not recursive", combine=Combine.SUM)
    own_ns: Int64 = column("time without the functions it called", combine=Combine.SUM)
    total_ns: Int64 = column("with them, of recursive calls the outermost only", combine=Combine.SUM)


class Samples(Table, name="samples", most_rows=4_194_304):
    """Where a thread was in Python, as recorded, from start_ns to end_ns.

    Samples between which the thread did not run are one row. The sampler looks less often in a long
    run, to stay below the limit of rows. looks is 0 where it did not look again after start_ns, when it was
    there; by its CPU time it had moved on by end_ns.
    """

    start_ns: Int64 = column("when it last looked at this thread before, or first saw it")
    end_ns: Int64 = column("when the sampler looked")
    thread: Int32 = column("the thread that it looked at", Threads)
    stack: Int32 = column("as that of operators, without modules; -1 where `look` is not READ", Stacks)
    look: Int8 = column("a `Look`")
    looks: Int32 = column(
        "how often it looked, or would have while the thread stood still", combine=Combine.SUM
    )
    cpu_ns: Int64 = column("CPU time of the thread in between", combine=Combine.SUM, optional=True)


class Code(Table):
    """Functions, each once.

    C functions are never Origin.USER: a library's, or the standard library's where they are built in.
    """

    file: Int32 = column("the code's file, -1 for a C function", Strings)
    function: Int32 = column("the qualified name", Strings)
    first_line: Int32 = column("the line at which it begins, 0 for a C function")
    origin: Int8 = column("an `Origin`")


class Counted(Table):
    """cProfile's figures, all threads together, by function, without perfprobe's."""

    code: Int32 = column("which function", Code)
    calls: Int64 = column("how many", combine=Combine.SUM)
    primitive_calls: Int64 = column("those that were not recursive", combine=Combine.SUM)
    own_ns: Int64 = column("time without the functions it called", combine=Combine.SUM)
    total_ns: Int64 = column("with them, of recursive calls the outermost only", combine=Combine.SUM)


class CountedCalls(Table):
    """cProfile's figures by caller and callee."""

    caller: Int32 = column("-1: perfprobe, or not known", Code)
    callee: Int32 = column("whose figures these are", Code)
    calls: Int64 = column("how many", combine=Combine.SUM)
    primitive_calls: Int64 = column("those that were not recursive", combine=Combine.SUM)
    own_ns: Int64 = column("time without the functions it called", combine=Combine.SUM)
    total_ns: Int64 = column("with them, of recursive calls the outermost only", combine=Combine.SUM)


class ImportStacks(NamedTuple):
    """For each stack, one more entry for none: the stack that asked for the import it is part of, and the one
    which runs the imported module's code, as far as it is known; -1 outside of imports.
    """

    importer: Int32
    body: Int32


@frozen
class PythonCode:
    """The calling structure, as far as it is known without reading the operators.

    of_stack: for every stack the row of `code` that its innermost frame runs, -1 for perfprobe's own frames
    and all outside of them (the launcher), and for the row that stands for other stacks; one more entry, -1,
    for "no stack". samples: as recorded, in the order of the file. imports: of which
    import each stack is part. packages: for every row of `code` the
    installed package (`torch`, `transformers`) whose it is, "" for all other code.
    """

    code: Code
    of_stack: Int32
    counted: Counted
    counted_calls: CountedCalls
    samples: Samples
    imports: ImportStacks
    packages: Sequence[str] = ()


class SampledStacks(Table):
    """Time by samples: one row for each thread, stack, and operator running there."""

    thread: Int32 = column("where it was", Threads)
    stack: Int32 = column("-1 where no Python was read, then `look` says why", Stacks)
    look: Int8 = column("a `Look`")
    name: Int32 = column("of the innermost operator that was running, to which self time falls", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)
    phase: Int8 = column("its `Phase`, -1 none")
    forward_stack: Int32 = column("in backward, that of the forward call its node belongs to", Stacks)
    looks: Int64 = column("how often the sampler saw it", combine=Combine.SUM)
    time_ns: Int64 = column("as far as it lies between the program's start and its stop", combine=Combine.SUM)
    cpu_ns: Int64 = column("CPU time of the thread in it", combine=Combine.SUM, optional=True)


class Imports(Table):
    """Imports of libraries by what asked for them and what they ran, by samples."""

    importer: Int32 = column("the stack that asked for it", Stacks)
    body: Int32 = column("the stack that runs the code of the imported module, -1 not seen", Stacks)
    time_ns: Int64 = column("how long, with all it imported in turn", combine=Combine.SUM)
    cpu_ns: Int64 = column("CPU time in it, as far as it is known", combine=Combine.SUM)


class OperatorSites(Table):
    """Operator time as measured, by the stack that called the operators. Ranges are left out."""

    stack: Int32 = column(
        "its own, in backward of the forward call, unless the user's Python ran there (a hook)", Stacks
    )
    name: Int32 = column("its name", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("the first one of that text", Signatures)
    phase: Int8 = column("a `Phase`")
    calls: Int64 = column("how many", combine=Combine.SUM)
    self_ns: Int64 = column("time in the operators themselves", combine=Combine.SUM)
    gpu_self_ns: Int64 = column(
        "on GPUs, of what they launched themselves, without CUDA graphs", combine=Combine.SUM, optional=True
    )


class FunctionRows(Table):
    """One row for each function that was counted, sampled, or called operators.

    -1: not known, not measured; so are times by samples and operators of C functions, which no stack holds.
    Times are by samples where there are any, else by cProfile. Operators are those called from the function
    itself (own), and also from what it called (total); those in backward count where the forward call was
    made.
    """

    code: Int32 = column("which function", Code)
    calls: Int64 = column("how many, by cProfile", combine=Combine.SUM, optional=True)
    primitive_calls: Int64 = column("those that were not recursive", combine=Combine.SUM, optional=True)
    counted_own_ns: Int64 = column("own_ns by cProfile", combine=Combine.SUM, optional=True)
    counted_total_ns: Int64 = column("total_ns by cProfile", combine=Combine.SUM, optional=True)
    own_ns: Int64 = column(
        "without Python functions it called; by cProfile also without C functions",
        combine=Combine.SUM,
        optional=True,
    )
    total_ns: Int64 = column(
        "with them, of recursive calls the outermost only", combine=Combine.SUM, optional=True
    )
    neither_ns: Int64 = column(
        "the part of own_ns that passed outside of operators", combine=Combine.SUM, optional=True
    )
    importing_ns: Int64 = column(
        "the part of own_ns that was part of a library's import", combine=Combine.SUM, optional=True
    )
    idle_ns: Int64 = column(
        "the part of own_ns in which a thread other than the main one stood still",
        combine=Combine.SUM,
        optional=True,
    )
    operator_calls: Int64 = column("operators called from it", combine=Combine.SUM, optional=True)
    operator_own_ns: Int64 = column("their time", combine=Combine.SUM, optional=True)
    operator_total_ns: Int64 = column("and of those below", combine=Combine.SUM, optional=True)
    forward_own_ns: Int64 = column("operator_own_ns in forward", combine=Combine.SUM, optional=True)
    backward_own_ns: Int64 = column("operator_own_ns in backward", combine=Combine.SUM, optional=True)
    recompute_own_ns: Int64 = column("operator_own_ns in recomputation", combine=Combine.SUM, optional=True)
    other_own_ns: Int64 = column("operator_own_ns in no phase", combine=Combine.SUM, optional=True)
    forward_total_ns: Int64 = column("operator_total_ns in forward", combine=Combine.SUM, optional=True)
    backward_total_ns: Int64 = column("operator_total_ns in backward", combine=Combine.SUM, optional=True)
    recompute_total_ns: Int64 = column(
        "operator_total_ns in recomputation", combine=Combine.SUM, optional=True
    )
    other_total_ns: Int64 = column("operator_total_ns in no phase", combine=Combine.SUM, optional=True)


class FunctionCalls(Table):
    """Which function called which. -1: not known."""

    caller: Int32 = column("-1: nothing above it was seen", Code)
    callee: Int32 = column("whose figures these are", Code)
    calls: Int64 = column("how many, by cProfile", combine=Combine.SUM, optional=True)
    total_ns: Int64 = column(
        "the callee's as far as it was called from there, by samples where there are any, else by cProfile",
        combine=Combine.SUM,
        optional=True,
    )
    counted_total_ns: Int64 = column("the same by cProfile", combine=Combine.SUM, optional=True)
    operator_total_ns: Int64 = column("operators called below", combine=Combine.SUM, optional=True)


class ThreadSums(Table):
    """The sum of each thread's samples, or, without a sampler, of cProfile's own times.

    By samples own_ns, perfprobe_ns, no_python_ns and failed_ns add up to all of their time: what wall_ns has
    more passed before the first sample or after the last one. -1: not known.
    """

    thread: Int32 = column("which", Threads)
    wall_ns: Int64 = column(
        "from the first look at it (the main thread: the program's start) to the last one (its stop)"
    )
    own_ns: Int64 = column("own times of its functions", combine=Combine.SUM, optional=True)
    perfprobe_ns: Int64 = column(
        "in perfprobe's own code outside of the program", combine=Combine.SUM, optional=True
    )
    no_python_ns: Int64 = column("without Python frames", combine=Combine.SUM, optional=True)
    failed_ns: Int64 = column(
        "frames could not be read, or were a stack beyond the limit of those kept",
        combine=Combine.SUM,
        optional=True,
    )
    cpu_ns: Int64 = column("CPU time in all of it", combine=Combine.SUM, optional=True)


@frozen
class Calling:
    """Python functions and operators as one calling structure, as far as they were recorded.

    Operators recorded with stacks are enough: what only cProfile or the sampler knows is then -1.
    by_samples: whether own_ns and total_ns are the sampler's (else cProfile's). counts_end_ns: when cProfile
    stopped before the program did, None when it did not or was not used. imports: of libraries. sampled_of:
    for every row of `python.samples` the row of `sampled` that it is part of, None where that is not known.
    """

    python: PythonCode
    functions: FunctionRows
    calls: FunctionCalls
    sampled: SampledStacks
    sites: OperatorSites
    threads: ThreadSums
    by_samples: bool
    counts_end_ns: int | None
    sampled_of: Int32 | None = None
    imports: Imports = field(default_factory=Imports.empty)
