"""Results of microbenchmarks: plain data that bench makes, a file stores and reports print.

Times are nanoseconds of one call. None means not measured.
"""

from __future__ import annotations

from perfprobe.support.frozen import frozen

# Why a call was not measured: it cannot be made; memory or device is missing here; its process crashed; no
# time was left.
CALL, MACHINE, CRASH, TIME = CAUSES = ("call", "machine", "crash", "time")


@frozen
class Estimate:
    """Median, lowest and highest of fresh processes, each the median of its blocks."""

    value: float
    low: float
    high: float


@frozen
class Wanted:
    """A call to be measured.

    Attributes:
        operator: with its overload, such as `aten::div.Tensor`. Without one the inputs decide.
        signature: in the grammar of recordings.
        example: the same with the values of floats; "" if not known.
        values: statistics of the tensors' values, as in `signatures.values`; "" if none.
        threads: size of torch's thread pool.
        reuse: for each tensor, lists flattened, about how many bytes the program touched since it last
            touched this one; -1 or missing if not known or more than caches hold.
        result_reuse: the same for the memory of its result.
        same: for each tensor the position of the earlier tensor that it is the same as; -1 or missing if
            none.
    """

    operator: str
    signature: str
    example: str = ""
    values: str = ""
    threads: int = 1
    reuse: tuple[int, ...] = ()
    result_reuse: int = -1
    same: tuple[int, ...] = ()


@frozen
class Seen:
    """All calls of one signature in a recording.

    Attributes:
        share: of all operator time.
        total_ns, self_ns: wall time.
        cpu_ns: CPU time of the calling thread, without the cost of recording.
        faults: page faults of the calling thread. cpu_ns and faults are None if not recorded for every
            operator.
        lines: lines of the program with most self time, as `file:line in function`.
    """

    calls: int
    share: float
    self_ns: int
    total_ns: int
    cpu_ns: int | None
    lines: tuple[str, ...] = ()
    faults: int | None = None


@frozen
class Bound:
    """A limit of the machine beside the call, both timed in the same rounds.

    Attributes:
        kind: "gemm", "memory", "gather", "element" or "overhead".
        fraction: the time that the limit alone would take, as a part of the call's time. Above 1 the model is
            wrong, which is shown.
        reference: what was timed for it, in words.
        level: of memory, "L2", "LLC" or "DRAM", if the machine's ceilings are known.
        isa_fraction: for "gemm", the fraction of the processor's own peak.
    """

    kind: str
    fraction: Estimate
    reference: str
    level: str | None = None
    isa_fraction: float | None = None


@frozen
class Counterfactual:
    """The same call with one thing changed, in the same rounds; "recycled output" later in the process.

    Attributes:
        kind: "contiguous", "contiguous with copy", "channels_last", "threads", "padded", "dtype", "values",
            "flushed", "equivalent" (the same result, computed in another way), "recycled output".
        change: in words, such as `K 13→16`.
        speedup: time of the call divided by that of the changed call.
    """

    kind: str
    change: str
    speedup: Estimate


@frozen
class Untried:
    """A change that was not tried. kind, change: as in `Counterfactual`, "" for all changes."""

    kind: str
    change: str
    reason: str


@frozen
class Verdict:
    """A verdict. kind: one of `models.verdicts.KINDS`; text: a sentence; modifiers: texts, each measured."""

    kind: str
    text: str
    modifiers: tuple[str, ...] = ()


@frozen
class Measurement:
    """One signature on one machine.

    Attributes:
        device: "cpu" or "cuda:0".
        clock: the kind of the times: "cpu" (of the critical path), "wall" or "gpu" (device events).
        not_rebuilt: why it was not measured; cause: one of `CAUSES`.
        rotating: with copies of the operands larger than the caches; wall: the same in wall time.
        warm: with the same operands each time.
        replayed: with each operand last touched as long ago as in the program.
        floor: the same overload with operands of one element.
        contention: wall time divided by CPU time.
        faults: page faults of a call.
        fault_ns: their time, by the measured time of one (one_fault_ns), shared by threads like their work.
        fault_part: the same as a part of rotating, for each process.
        other_threads: CPU time of all other threads divided by that of the busiest.
        replay: time of the calling thread in replayed (or rotating), with the page faults of the program,
            divided by the CPU time of a call in the program.
        dtype: of the arithmetic, from the work model.
        nested: the part of the time in each operator inside it, without those inside that one, by name.
        untried: changes that were not tried.
    """

    wanted: Wanted
    device: str
    clock: str
    seen: Seen | None = None
    not_rebuilt: str | None = None
    processes: int = 0
    rotating: Estimate | None = None
    warm: Estimate | None = None
    replayed: Estimate | None = None
    wall: Estimate | None = None
    floor: Estimate | None = None
    contention: float | None = None
    faults: float | None = None
    fault_ns: float | None = None
    one_fault_ns: float | None = None
    fault_part: Estimate | None = None
    other_threads: float | None = None
    replay: float | None = None
    dtype: str | None = None
    flops: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None
    line_bytes: int | None = None
    bounds: tuple[Bound, ...] = ()
    counterfactuals: tuple[Counterfactual, ...] = ()
    nested: tuple[tuple[str, float], ...] = ()
    verdict: Verdict | None = None
    untried: tuple[Untried, ...] = ()
    cause: str = ""


@frozen
class Measurements:
    """A run of bench.

    Attributes:
        recording: the file that the calls are from; None for typed operators.
        left_out_share: part of all operator time in calls that were not measured.
        stopped: why it ended before all was measured.
        notes: what a reader must know, in words.
    """

    machine: str
    torch: str
    recording: str | None
    rows: tuple[Measurement, ...]
    left_out_share: float | None = None
    stopped: str | None = None
    notes: tuple[str, ...] = ()
