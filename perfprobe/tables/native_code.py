"""Samples of the instruction address: in which function of which library threads spend their CPU time."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Signatures, Threads
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings


class NativeFunctions(Table, name="native_functions"):
    """Functions in which a thread was sampled, from the symbols of their libraries."""

    library: Int32 = column(
        "path of its file, `[vdso]`, `(generated code)` or `(unknown)` for code that was unmapped", Strings
    )
    name: Int32 = column("its symbol, demangled; -1 where the library has no symbols", Strings)
    is_exact: Int8 = column(
        "1: the symbol covers the address; 0: no symbol does, and `name` is `a..b` for the two around it"
    )


class NativeMode(IntEnum):
    """Where a thread was when it was sampled."""

    PROGRAM = 0
    SYSTEM_CALL = 1  # in the kernel, in a system call
    INTERRUPTED = 2  # in the kernel, in a page fault or an interrupt


class NativeSamples(Table, name="native_samples", most_rows=MOST_EVENTS):
    """Samples of threads, one after each period of CPU time, ordered by time. Recorded with `--native`."""

    time_ns: Int64 = column("when it was taken")
    cpu_ns: Int64 = column("CPU time that it stands for", combine=Combine.SUM)
    thread: Int32 = column("the thread", Threads)
    function: Int32 = column(
        "the function; of a sample in the kernel, the one that entered it", NativeFunctions
    )
    mode: Int8 = column("a `NativeMode`")


class NativePart(IntEnum):
    """What native code does, by the names of libraries and symbols: see `models.native_parts`."""

    MATH = 0
    LOOPS = 1
    WAIT = 2
    COPY = 3
    MEMORY = 4
    DISPATCH = 5
    PYTHON = 6
    SYSTEM = 7
    PERFPROBE = 8
    OTHER = 9


PART_TEXTS = {
    NativePart.MATH: "math libraries",
    NativePart.LOOPS: "torch's loops",
    NativePart.WAIT: "waiting in OpenMP",
    NativePart.COPY: "copying",
    NativePart.MEMORY: "allocation and page faults",
    NativePart.DISPATCH: "dispatch",
    NativePart.PYTHON: "Python",
    NativePart.SYSTEM: "system calls",
    NativePart.PERFPROBE: "perfprobe",
    NativePart.OTHER: "other code",
}


class NativePlace(IntEnum):
    """Which operator a sample belongs to."""

    OPERATOR = 0
    OUTSIDE = 1  # no operator ran
    SEVERAL = 2  # of a team member while several threads ran operators: it could be any of these


class NativeTimes(Table):
    """CPU time of samples by operator and function. A team member's samples are of the operator it works for.

    The operator is the innermost one; its columns are -1 for samples outside of operators.
    """

    place: Int8 = column("a `NativePlace`")
    name: Int32 = column("the operator", Strings)
    signature: Int32 = column("signature of its inputs", Signatures)
    frame: Int32 = column("the user's line", Frames)
    phase: Int8 = column("a `Phase`, -1 outside of operators")
    function: Int32 = column("the function", NativeFunctions)
    kind: Int8 = column("a `NativePart`")
    is_helper: Int8 = column("1: of threads that run no operators of their own, such as a team's members")
    cpu_ns: Int64 = column("CPU time", combine=Combine.SUM)
    looks: Int64 = column("number of samples", combine=Combine.SUM)


@frozen
class NativeSplit:
    """Native code of a process.

    Attributes:
        period_ns: CPU time between two samples of a thread.
        with_kernel: whether time in the kernel was sampled too.
        cpu_ns: CPU time of all samples, without perfprobe's own threads.
        process_cpu_ns: the same by the clocks of the threads, None if not known.
        cost_ns: CPU time that reading and naming the samples took, None if not known.
    """

    times: NativeTimes
    period_ns: int
    with_kernel: bool
    cpu_ns: int
    process_cpu_ns: int | None
    cost_ns: int | None
