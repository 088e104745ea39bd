"""Steps of the program, their parts, and what came before the first. -1 is "none"."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Threads
from perfprobe.tables.stacks import Frames, Stacks


class StepKind(IntEnum):
    """The purpose of a step. Evaluation: calls of the model between training steps, a row for a stretch."""

    TRAINING = 0
    INFERENCE = 1
    EVALUATION = 2


class StepSource(IntEnum):
    """How steps were found."""

    PROGRAM = 0  # perfprobe.step()
    PROFILER = 1  # torch.profiler's ProfilerStep#
    OPTIMIZER = 2  # the end of an optimizer's step
    LOADER = 3  # the loader's `next`
    MODULE = 4  # the outermost call of a module
    BACKWARD = 5  # the end of backward, where no optimizer steps


class StepMark(IntEnum):
    """Why a step is not in the averages."""

    STEADY = 0  # nothing
    WARM_UP = 1  # the first ones, if they take longer
    COMPILE = 2  # torch.compile was at work in it
    OUTLIER = 3  # far longer than the median
    CUT = 4  # the last one, which did not end with the recording


LEFT_OUT_TEXTS = {
    StepMark.WARM_UP: "warm-up",
    StepMark.COMPILE: "with compiling",
    StepMark.OUTLIER: "outlier",
    StepMark.CUT: "cut off",
}


class StepPhase(IntEnum):
    """What the step's own thread did."""

    OTHER = 0  # Python of the program, and unknown time
    DATA = 1  # waiting for data: the loader's `next`, or other code that makes the loop's next item
    COPY = 2  # copies from host to device, `to` and `copy_` outside of modules
    FORWARD = 3  # modules, and operators that backward refers to
    BACKWARD = 4
    RECOMPUTE = 5  # forward code again in backward
    OPTIMIZER = 6  # its step, gradient clipping, scaling, learning rates
    ZERO_GRAD = 7
    COMPILE = 8
    SAVING = 9
    LOGGING = 10  # printing, writers of logs, progress bars, reading numbers out of tensors
    COLLECTION = 11  # Python's garbage collection
    RESULTS = 12  # of inference: reading what the model gave


class EventKind(IntEnum):
    """Kinds of events in a step."""

    NEXT = 0  # of the loader
    CALL = 1  # of the outermost module; without modules, a run of forward operators
    BACKWARD = 2
    OPTIMIZER = 3


PHASE_TEXTS = {
    StepPhase.OTHER: "other",
    StepPhase.DATA: "data",
    StepPhase.COPY: "copy",
    StepPhase.FORWARD: "forward",
    StepPhase.BACKWARD: "backward",
    StepPhase.RECOMPUTE: "recompute",
    StepPhase.OPTIMIZER: "optimizer",
    StepPhase.ZERO_GRAD: "zero_grad",
    StepPhase.COMPILE: "compile",
    StepPhase.SAVING: "saving",
    StepPhase.LOGGING: "logging",
    StepPhase.COLLECTION: "garbage collection",
    StepPhase.RESULTS: "read results",
}
# The names of phases where nothing is trained.
INFERENCE_TEXTS = {**PHASE_TEXTS, StepPhase.DATA: "input", StepPhase.FORWARD: "model"}


class StartUpPart(IntEnum):
    """What a program does before its first step, and the extra time of its first steps."""

    OTHER = 0
    IMPORT = 1
    MODEL = 2  # building modules and optimizers
    COMPILE = 3
    WARM_UP = 4  # time beyond the median of the steps marked so
    WAITING = 5  # the thread stood still
    CHILDREN = 6  # it waited for child processes to end


class Loops(Table):
    """What runs steps: a row for each thread and kind, most time first; the first one leads the report.

    Durations and sums are of its steady steps; all steps where none is steady.
    """

    thread: Int32 = column("where it runs", Threads)
    kind: Int8 = column("a `StepKind`")
    source: Int8 = column("a `StepSource`")
    frame: Int32 = column("in the program's function that holds the loop", Frames)
    line: Int32 = column("of that file: the loop's own line, of `frame` where that is not known")
    library_frame: Int32 = column("where the loop is a library's, in the function that holds it", Frames)
    library_line: Int32 = column("of that file: the loop's own line")
    steps: Int64 = column("how many, those left out too", combine=Combine.SUM)
    steady: Int64 = column("how many were not left out", combine=Combine.SUM)
    left_out_ns: Int64 = column("time of those left out", combine=Combine.SUM)
    total_ns: Int64 = column("time of the others", combine=Combine.SUM)
    median_ns: Int64 = column("of their durations, by nearest rank")
    p95_ns: Int64 = column("of their durations, by nearest rank")
    p99_ns: Int64 = column("of their durations, by nearest rank")
    micro_batches: Int32 = column("of the median step: forward calls followed by a backward, -1 not known")
    samples: Int64 = column("the first dimension of their batches together, median", optional=True)


class Steps(Table):
    """Steps and evaluations, by thread and time; those of a thread do not overlap.

    A training step reaches from the end of the one before, or of what stands apart, to its own end.
    """

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    thread: Int32 = column("where it ran", Threads)
    loop: Int32 = column("which loop's", Loops)
    kind: Int8 = column("a `StepKind`")
    mark: Int8 = column("a `StepMark`: only steady ones are averaged")
    micro_batches: Int32 = column("forward calls followed by a backward, -1 not known")
    calls: Int32 = column("outermost calls of modules in it, -1 not known")
    samples: Int64 = column(
        "the first dimension of its batches, where first and last operator agree on it", optional=True
    )
    graph: Int8 = column(
        "outside of training: 1 where autograd recorded a graph, which nothing used, else 0; -1 not known"
    )


class StepEvents(Table):
    """What happened in each step, by step and time; an optimizer's step may have others within it."""

    step: Int32 = column("which", Steps)
    kind: Int8 = column("an `EventKind`")
    start_ns: Int64 = column("when it began; a call or backward with its first operator")
    end_ns: Int64 = column("when it ended; a call or backward with its last operator")


class StepPhases(Table):
    """The parts of each step: a row for each step and phase with time; they sum to its duration."""

    step: Int32 = column("which", Steps)
    phase: Int8 = column("a `StepPhase`")
    time_ns: Int64 = column("wall time of the step's own thread", combine=Combine.SUM)
    beside_ns: Int64 = column(
        "the part of it in which other threads ran operators too, -1 not known", combine=Combine.SUM
    )
    gpu_ns: Int64 = column(
        "the part of it in which a GPU was busy, -1 no GPU was recorded", combine=Combine.SUM, optional=True
    )
    children_ns: Int64 = column(
        "the part of it in which child processes ran, by their samples, -1 none was recorded",
        combine=Combine.SUM,
        optional=True,
    )


class Phases(Table):
    """The parts of the steady steps of each loop, by loop, most time first; they sum to its `total_ns`."""

    loop: Int32 = column("which loop's", Loops)
    phase: Int8 = column("a `StepPhase`")
    time_ns: Int64 = column("wall time of the steps' own thread", combine=Combine.SUM)
    median_ns: Int64 = column("of all steady steps, 0 where it is in fewer than half of them")
    beside_ns: Int64 = column(
        "the part of time_ns in which other threads ran operators too, -1 not known", combine=Combine.SUM
    )
    gpu_ns: Int64 = column(
        "the part of time_ns in which a GPU was busy, -1 no GPU was recorded",
        combine=Combine.SUM,
        optional=True,
    )
    children_ns: Int64 = column(
        "the part of time_ns in which child processes ran, by their samples, -1 none was recorded",
        combine=Combine.SUM,
        optional=True,
    )
    frame: Int32 = column("the user's line with most of it, -1 none seen", Frames)
    frame_ns: Int64 = column("what of time_ns is that line's", combine=Combine.SUM)


class StartUp(Table):
    """Time before the first step, and extra time of first calls, most time first."""

    kind: Int8 = column("a `StartUpPart`")
    importer: Int32 = column("of an import, the stack that asked for it", Stacks)
    body: Int32 = column("of an import, the stack that runs the module's code", Stacks)
    frame: Int32 = column("the user's line with most of it, -1 none seen", Frames)
    time_ns: Int64 = column("wall time of the main thread", combine=Combine.SUM)


@frozen
class StepTimes:
    """Steps and what they are made of. start_up_ns: from the program's start to its first step, or None.

    Without steps `loops` is empty, and `start_up` has what is known of imports and the like.
    """

    loops: Loops
    steps: Steps
    events: StepEvents
    step_phases: StepPhases
    phases: Phases
    start_up: StartUp
    start_up_ns: int | None
