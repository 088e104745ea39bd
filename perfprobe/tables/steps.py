"""Steps of the program, their parts, and what came before the first. -1 means none."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Mask, Rows, Table, among, column
from perfprobe.tables.events import Threads
from perfprobe.tables.stacks import Frames, Stacks


class StepKind(IntEnum):
    """The purpose of a step. Evaluation: consecutive calls of the model between training steps, one row."""

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
    BACKWARD = 5  # the end of backward, if there is no optimizer


class StepMark(IntEnum):
    """Why a step does not count in averages."""

    STEADY = 0  # it counts
    WARM_UP = 1  # one of the first steps, if they take longer
    COMPILE = 2  # torch.compile was at work in it
    OUTLIER = 3  # far longer than the median, and rare: it counts in sums
    CUT = 4  # the last one, which did not end with the recording
    BASELINE = 5  # only timed, to measure what recording adds (`--baseline`) or to bound it (`--budget`)
    COUNTED = 6  # cProfile counted calls, which slowed it too much to go on


LEFT_OUT_TEXTS = {
    StepMark.WARM_UP: "warm-up",
    StepMark.COMPILE: "with compiling",
    StepMark.OUTLIER: "outlier",
    StepMark.CUT: "cut off",
    StepMark.BASELINE: "untraced",
    StepMark.COUNTED: "with cProfile",
}


class StepPhase(IntEnum):
    """What the step's own thread did."""

    OTHER = 0  # Python of the program, and unknown time
    DATA = 1  # waiting for data: the loader's `next`, or other code that makes the loop's next item
    COPY = 2  # copies from host to device, `to` and `copy_` outside of modules
    FORWARD = 3  # modules, and operators that backward refers to
    BACKWARD = 4
    RECOMPUTE = 5  # forward code again in backward
    OPTIMIZER = 6  # its step, scaling of gradients, learning rates
    ZERO_GRAD = 7
    COMPILE = 8
    SAVING = 9
    LOGGING = 10  # writers of logs, progress bars; a plain print is OTHER
    COLLECTION = 11  # Python's garbage collection
    RESULTS = 12  # reading values of tensors, such as a loss: `item`, copies to the host
    IMPORT = 13  # imports of libraries
    CLIPPING = 14  # of gradients


class EventKind(IntEnum):
    """Kinds of events in a step."""

    NEXT = 0  # of the loader
    CALL = 1  # of the outermost module; without modules, consecutive forward operators
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
    StepPhase.RESULTS: "reads",
    StepPhase.IMPORT: "import",
    StepPhase.CLIPPING: "clipping",
}
# The names of phases if nothing is trained.
INFERENCE_TEXTS = {**PHASE_TEXTS, StepPhase.DATA: "input", StepPhase.FORWARD: "model"}


class StartUpPart(IntEnum):
    """What a program does before its first step, and the extra time of its first steps."""

    OTHER = 0
    IMPORT = 1
    MODEL = 2  # building modules and optimizers
    COMPILE = 3
    WARM_UP = 4  # time beyond the median of the steps marked so
    WAITING = 5  # extra time of warm-up steps over the median
    CHILDREN = 6  # the thread waited
    IDLE = 7  # for the first request


class Loops(Table):
    """Loops that run steps: a row for each thread and kind, most time first. The first one leads the report.

    Durations and sums are of its steady steps; if there are none, of all steps.
    """

    thread: Int32 = column("the thread it runs on", Threads)
    kind: Int8 = column("a `StepKind`")
    source: Int8 = column("a `StepSource`")
    frame: Int32 = column("a frame in the program's function that contains the loop", Frames)
    line: Int32 = column("line of the loop in that file; if not known, the line of `frame`")
    library_frame: Int32 = column(
        "if the loop is a library's, a frame in the function that contains it", Frames
    )
    library_line: Int32 = column("line of the loop in that file")
    steps: Int64 = column("number of steps, including those left out", combine=Combine.SUM)
    steady: Int64 = column("number of steps that count in averages", combine=Combine.SUM)
    left_out_ns: Int64 = column("time of the steps that are left out", combine=Combine.SUM)
    total_ns: Int64 = column("time of the steps that count", combine=Combine.SUM)
    idle_ns: Int64 = column(
        "time between the steps in which the thread waited for requests, which no step has",
        combine=Combine.SUM,
    )
    idle_frame: Int32 = column(
        "the user's line that waited longest for requests, -1 if none was seen", Frames
    )
    median_ns: Int64 = column("median of their durations, by nearest rank")
    low_ns: Int64 = column(
        "lower end of the 95 % interval of median_ns, by order statistics; -1 with fewer than six",
        optional=True,
    )
    high_ns: Int64 = column("upper end of that interval", optional=True)
    p95_ns: Int64 = column("95th percentile of their durations, by nearest rank")
    p99_ns: Int64 = column("99th percentile of their durations, by nearest rank")
    micro_batches: Int32 = column("forward calls in the median step that a backward follows, -1 if not known")
    samples: Int64 = column(
        "median of the samples in a step: first dimensions of its batches, added up", optional=True
    )


class Steps(Table):
    """Steps and evaluations, by thread and time. Those of one thread do not overlap.

    A training step begins at the end of the previous step or evaluation.
    """

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    thread: Int32 = column("the thread it ran on", Threads)
    loop: Int32 = column("the loop", Loops)
    kind: Int8 = column("a `StepKind`")
    mark: Int8 = column("a `StepMark`: only steady steps count in averages")
    micro_batches: Int32 = column("forward calls that a backward follows, -1 if not known")
    calls: Int32 = column("outermost calls of modules, -1 if not known")
    samples: Int64 = column(
        "samples: first dimensions of its batches, if first and last operator agree", optional=True
    )
    graph: Int8 = column(
        "outside of training: 1 if autograd recorded a graph that nothing used, else 0; -1 if not known"
    )

    def counted(self) -> Mask:
        """Which steps sums are of: steady ones and outliers, which are rare heavy work; else all recorded.

        Evaluations may all have been only timed: then sums are of these.
        """
        found, recorded = self.usual(), self.mark != StepMark.BASELINE
        if not bool(found.any()):
            found = recorded if bool(recorded.any()) else np.ones(len(self), np.bool_)
        return np.asarray(found)

    def usual(self) -> Mask:
        """Which steps are steady, or outliers."""
        return among(self.mark, [StepMark.STEADY, StepMark.OUTLIER])


class StepLooks(Table):
    """Samples of the threads of loops, by loop and time."""

    step: Int32 = column("the step that it was taken in", Steps)
    sample: Int64 = column("its row of `samples`")
    phase: Int8 = column("the `StepPhase` of the time that it stands for")
    time_ns: Int64 = column("the time that it stands for", combine=Combine.SUM)


class StepEvents(Table):
    """What happened in each step, by step and time. An optimizer's step may contain other events."""

    step: Int32 = column("the step", Steps)
    kind: Int8 = column("an `EventKind`")
    start_ns: Int64 = column("when it began; a call or backward with its first operator")
    end_ns: Int64 = column("when it ended; a call or backward with its last operator")


class StepPhases(Table):
    """The parts of each step: a row for each phase with time. The rows of a traced step
    sum to its duration; an untraced one has none."""

    step: Int32 = column("the step", Steps)
    phase: Int8 = column("a `StepPhase`")
    time_ns: Int64 = column("wall time of the step's own thread", combine=Combine.SUM)
    beside_ns: Int64 = column(
        "the part of time_ns in which other threads ran operators too, -1 if not known", combine=Combine.SUM
    )
    gpu_ns: Int64 = column(
        "the part of time_ns in which a GPU was busy, -1 if no GPU was recorded",
        combine=Combine.SUM,
        optional=True,
    )
    children_ns: Int64 = column(
        "the part of time_ns in which child processes ran, by their samples, -1 if none was recorded",
        combine=Combine.SUM,
        optional=True,
    )
    waited_ns: Int64 = column(
        "the part of time_ns in which the thread waited for a processor, by its readings, -1 if it read none",
        combine=Combine.SUM,
        optional=True,
    )


class Phases(Table):
    """The parts of the steady steps of each loop, by loop, most time first. They sum to its `total_ns`."""

    loop: Int32 = column("the loop", Loops)
    phase: Int8 = column("a `StepPhase`")
    time_ns: Int64 = column("wall time of the steps' own thread", combine=Combine.SUM)
    median_ns: Int64 = column("median over all steady steps, 0 if fewer than half of them have the phase")
    beside_ns: Int64 = column(
        "the part of time_ns in which other threads ran operators too, -1 if not known", combine=Combine.SUM
    )
    gpu_ns: Int64 = column(
        "the part of time_ns in which a GPU was busy, -1 if no GPU was recorded",
        combine=Combine.SUM,
        optional=True,
    )
    children_ns: Int64 = column(
        "the part of time_ns in which child processes ran, by their samples, -1 if none was recorded",
        combine=Combine.SUM,
        optional=True,
    )
    frame: Int32 = column("the user's line with most of time_ns, -1 if none was seen", Frames)
    frame_ns: Int64 = column("the part of time_ns at that line", combine=Combine.SUM)


class StartUp(Table):
    """Time before the first step, and extra time of first calls, most time first."""

    kind: Int8 = column("a `StartUpPart`")
    importer: Int32 = column("for an import, the stack that imports", Stacks)
    body: Int32 = column("for an import, the stack that runs the module's code", Stacks)
    frame: Int32 = column("the user's line with most of time_ns, -1 if none was seen", Frames)
    time_ns: Int64 = column("wall time of the main thread", combine=Combine.SUM)


@frozen
class StepTimes:
    """Steps and their parts. start_up_ns: from the program's start to its first step; None if not known.

    Without steps `loops` is empty, and `start_up` has what is known of imports and other parts. is_next:
    which stacks are part of getting the leading loop's next item. after: what the main thread did after its
    first step and outside of all its steps, by samples.
    """

    loops: Loops
    steps: Steps
    events: StepEvents
    step_phases: StepPhases
    phases: Phases
    looks: StepLooks
    is_next: Mask
    start_up: StartUp
    start_up_ns: int | None
    after: StartUp

    def leading(self) -> Rows:
        """The rows of the leading loop's steps that count, by time."""
        own = np.flatnonzero(self.steps.loop == 0)
        own = own[self.steps.take(own).counted()]
        return own[np.argsort(self.steps.start_ns[own], kind="stable")]
