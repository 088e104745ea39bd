"""Results of microbenchmarks: plain data that bench yields, a file keeps and reports print.

Times are nanoseconds of one call. None is "not measured".
"""

from __future__ import annotations

from perfprobe.support.frozen import frozen

# Why a call was not measured: it cannot be made; the memory or device for it is missing here; its process
# crashed; no time left.
CALL, MACHINE, CRASH, TIME = CAUSES = ("call", "machine", "crash", "time")


@frozen
class Estimate:
    """The median over fresh processes, each the median of its blocks; with the lowest and highest."""

    value: float
    low: float
    high: float


@frozen
class Wanted:
    """A call to be measured.

    operator: with its overload: `aten::div.Tensor`; without, the overload is found by the inputs. signature:
    in the grammar of recordings. example: the same with the values of floats, "" where not known. values:
    what was seen in the tensors, as in `signatures.values`, "" where nothing was looked at. threads: of
    torch's pool. reuse: of each tensor, lists flattened, the bytes that the program touched since it last
    touched this one, about; -1 or none for more than caches hold, and where it is not known. result_reuse:
    the same of the memory that its result gets. same: the place of the earlier tensor that it also is, -1 or
    none for none.
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

    share: of all operator time; total_ns, self_ns: wall; cpu_ns: CPU time of the calling thread, without the
    cost of recording, faults: its page faults; None where they were not recorded for every operator.
    lines: of the program, `file:line in function`, those with most self time, that one first.
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

    kind: "gemm", "memory", "gather", "element" or "overhead". fraction: the time that the limit alone would
    take, as a part of the call's time; above 1 the model is wrong, and that is shown. reference: what was
    timed for it, in words. level: of memory, "L2", "LLC" or "DRAM", where the machine's ceilings are known.
    isa_fraction: of the processor's own peak, for "gemm".
    """

    kind: str
    fraction: Estimate
    reference: str
    level: str | None = None
    isa_fraction: float | None = None


@frozen
class Counterfactual:
    """The same call with one thing changed, in the same rounds; "recycled output" later in the process.

    kind: "contiguous", "contiguous with copy", "channels_last", "threads", "padded", "dtype", "values",
    "flushed", "recycled output".
    change: in words, `K 13→16`. speedup: time of the call as it is, divided by that of the changed one.
    """

    kind: str
    change: str
    speedup: Estimate


@frozen
class Untried:
    """A change that was not tried. kind, change: as in `Counterfactual`, "" for all changes; reason: why."""

    kind: str
    change: str
    reason: str


@frozen
class Verdict:
    """kind: one of `models.verdicts.KINDS`; text: the whole sentence; modifiers: texts, each measured."""

    kind: str
    text: str
    modifiers: tuple[str, ...] = ()


@frozen
class Measurement:
    """One signature on one machine.

    not_rebuilt: why it was not measured; cause: which kind of reason that is, one of `CAUSES`. device: "cpu"
    or "cuda:0". clock: whose times these are: "cpu" (of the critical path), "wall" or "gpu" (device events).
    rotating: over copies of the operands larger than the caches; warm: the same operands again; replayed:
    each as far back as in the program; wall: of rotating, by the wall clock. floor: the same overload on
    one-element operands. contention: wall by CPU time. faults: page faults of a call; fault_ns: what they
    cost by the measured price of one (one_fault_ns), shared by threads as their work is; fault_part: the
    same as a part of rotating, process by process. other_threads: CPU time of all other threads, as a
    part of that of the busiest. replay: the calling thread's part of replayed, or of rotating without it,
    with the price of the page faults that were counted in the program, by the CPU time of a call there.
    nested: the part of the time in operators that it calls, by name. dtype: of the arithmetic, by the
    work model. untried: changes that were not tried.
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
    """A run of bench. recording: the file it is about, None for operators typed by hand.

    left_out_share: part of all operator time in calls that were not measured. stopped: why it ended before
    all was measured. notes: what a reader must know, in words.
    """

    machine: str
    torch: str
    recording: str | None
    rows: tuple[Measurement, ...]
    left_out_share: float | None = None
    stopped: str | None = None
    notes: tuple[str, ...] = ()
