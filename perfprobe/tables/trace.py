"""A `Trace`: a recording with linked rows and resolved names. Only merge makes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from enum import IntEnum
from typing import Any, NamedTuple

from perfprobe.support.frozen import frozen
from perfprobe.tables.children import ChildTimes
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table, column
from perfprobe.tables.events import LinkedOperators, Losses, Progress, Signatures
from perfprobe.tables.gpu import GpuLinks
from perfprobe.tables.memory import TensorMemory
from perfprobe.tables.python import PythonCode
from perfprobe.tables.recording import Recording
from perfprobe.tables.sources import Sources
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings

_FLUSHES_NS = 2_000_000_000  # a recording that is written at all is flushed at least that often


class Phase(IntEnum):
    """The part of the training step that a row belongs to."""

    OTHER = 0
    FORWARD = 1
    BACKWARD = 2
    RECOMPUTE = 3  # forward code run again in backward (torch.utils.checkpoint)
    COMPILE = 4  # operators that torch.compile traces, on tensors without data
    DATA = 5  # all that a DataLoader calls to make a batch: datasets, transforms (also modules), collation
    OPTIMIZER = 6  # its step, gradient clipping and scaling


SHORT_PHASES = {  # for narrow tables
    Phase.OTHER: "oth",
    Phase.FORWARD: "fwd",
    Phase.BACKWARD: "bwd",
    Phase.RECOMPUTE: "rec",
    Phase.COMPILE: "comp",
    Phase.DATA: "data",
    Phase.OPTIMIZER: "opt",
}


def shown_name(name: str, *, narrow: bool) -> str:
    """Returns an operator's name as tables print it; narrow ones without `aten::`."""
    name = name.removeprefix("autograd::engine::")
    return name.removeprefix("aten::").removeprefix("inductor::cpp_") if narrow else name


class NoLine(IntEnum):
    """Why a row has no line of its own call.

    With GRADIENT_REDUCTION it may have another line: where the DDP was made, or the call of backward.
    """

    NONE = 0
    NO_PYTHON = 1
    OTHER_STACKS = 2
    NODE_UNKNOWN = 3
    NODE_WITHOUT_FORWARD = 4
    FORWARD_NOT_RECORDED = 5
    FORWARD_WITHOUT_LINE = 6
    NODE_WITHOUT_OPERATOR = 7
    OUTSIDE_OPERATORS = 8
    CALL_NOT_RECORDED = 9
    GRAPH_LAUNCH_UNKNOWN = 10
    GRADIENT_REDUCTION = 11
    RPC = 12


NO_LINE_TEXTS = {
    NoLine.NONE: "",
    NoLine.NO_PYTHON: "no Python on this thread",
    NoLine.OTHER_STACKS: "beyond the limit of stacks kept",
    NoLine.NODE_UNKNOWN: "in backward, before its node was known",
    NoLine.NODE_WITHOUT_FORWARD: "AccumulateGrad: no forward line",
    NoLine.FORWARD_NOT_RECORDED: "its forward call was not recorded",
    NoLine.FORWARD_WITHOUT_LINE: "its forward call has no Python line",
    NoLine.NODE_WITHOUT_OPERATOR: "TorchScript: a node for several operators",
    NoLine.OUTSIDE_OPERATORS: "called outside of operators, where no Python was seen",
    NoLine.CALL_NOT_RECORDED: "the call that started it was not recorded",
    NoLine.GRAPH_LAUNCH_UNKNOWN: "of a CUDA graph whose launch is not known",
    NoLine.GRADIENT_REDUCTION: "DDP gradient reduction",
    NoLine.RPC: "RPC: gradients of another process",
}


class Line(NamedTuple):
    """A place in the user's code."""

    file: str
    line: int
    function: str


class Sites(Table):
    """The line and module of each stack. A row belongs to the same row of `Stacks`.

    `inside` means within the innermost call of autograd's engine, or in the whole stack without such a call.
    Equal lines, and modules with equal names, have the same id.
    """

    frame: Int32 = column("the user's line", Frames)
    inside_frame: Int32 = column("the user's line inside", Frames)
    module: Int32 = column("the nn.Module", Modules)
    inside_module: Int32 = column("the nn.Module inside", Modules)
    is_recompute: Mask = column("whether an operator with this stack in backward runs forward code again")
    is_compile: Mask = column("whether torch.compile compiles in it")
    is_data: Mask = column("whether it is below torch's data loading")
    is_optimizer: Mask = column("whether an optimizer's step, clipping or scaling runs in it")
    engine: Int32 = column("the innermost call of autograd's engine", Stacks)


class TimedPhases(Table):
    """Stretches of one phase on a thread, of operators that have no Python stack."""

    thread: Int64 = column("the system's number of the thread")
    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    phase: Int8 = column("a `Phase`")


@frozen
class Trace:
    """Linked operators, streamed, and the names behind their ids.

    Attributes:
        stream: yields the linked operators, with or without what they allocated and freed; at the end appends
            what could not be linked.
        sources: how observer and autograd profiler differ; None if only one of them recorded.
        python: Python functions; None if neither functions nor stacks were recorded.
        gpu: None if no GPU was recorded.
        module_types: the class of every module.
        memory: None unless the observer recorded memory.
        children_ran: starts and ends of when recorded child processes ran; None if there are none.
        worker_times: of each of DataLoader's workers among them for which the scheduler was read.
        timed_phases: of threads without Python stacks.
    """

    recording: Recording
    sites: Sites
    module_texts: Sequence[str]
    stream: Callable[[list[Losses], bool], Iterator[LinkedOperators]]
    sources: Sources | None = None
    python: PythonCode | None = None
    gpu: GpuLinks | None = None
    module_types: Sequence[str] = ()
    memory: TensorMemory | None = None
    children_ran: tuple[Int64, Int64] | None = None
    worker_times: Sequence[ChildTimes] = ()
    timed_phases: TimedPhases = field(default_factory=TimedPhases.empty)

    def operators(
        self, losses: list[Losses] | None = None, with_memory: bool = True
    ) -> Iterator[LinkedOperators]:
        """Yields all operators in batches. After the last one, appends what could not be linked to `losses`.

        Args:
            with_memory: whether bytes that operators allocated and freed are wanted. They cost one reading of
                memory if it was recorded; without, the autograd profiler's are there, else -1.

        Raises:
            InputError: the recording can no longer be read.
        """
        return self.stream([] if losses is None else losses, with_memory)

    def line(self, frame: int) -> Line | None:
        """Returns the place of a frame id; None for -1."""
        if frame < 0:
            return None
        frames, strings = self.recording[Frames], self.recording[Strings]
        return Line(strings[frames.file[frame]], int(frames.line[frame]), strings[frames.function[frame]])

    def module(self, module: int) -> str | None:
        """Returns the path of a module (`encoder.layers.3.attn`); of a root its type; None for -1."""
        return self.module_texts[module] if module >= 0 else None

    def signature(self, signature: int) -> str | None:
        """Returns the text of a signature; None for an operator recorded without inputs."""
        signatures = self.recording[Signatures]
        return self.recording[Strings][signatures.text[signature]] if signature >= 0 else None

    def made_from(self, name: int) -> tuple[list[str], list[Line]]:
        """Returns the operators in a kernel of torch.compile, and their lines; empty for other names."""
        kernel = self.recording[Strings][name] if name >= 0 else ""
        lines = self.recording.fact("compiled", kernel, "lines")
        found = [line_of(entry) for entry in (lines if isinstance(lines, list) else [])]
        operators = self.recording.texts("compiled", kernel, "operators")
        return operators, [line for line in found if line is not None]

    @property
    def start_ns(self) -> int | None:
        """When the program or the recorded block began."""
        return _whole(self.recording.number("start", "monotonic_ns"))

    @property
    def end_ns(self) -> int | None:
        """When it stopped; if it was cut short, when the recording was last written."""
        stop_ns = _whole(self.recording.number("stop", "monotonic_ns"))
        if stop_ns is not None:
            return stop_ns
        return self.recording.last_ns if self.recording.last_ns >= 0 else None

    @property
    def cpu_ns(self) -> int | None:
        """CPU time of the whole process between start and end; None if it is not known until the end.

        Without a stop it is that of the last flush, unless the recording goes on: on a full disk it does.
        """
        start_ns = _whole(self.recording.number("start", "cpu_ns"))
        stop_ns = _whole(self.recording.number("stop", "cpu_ns"))
        progress = self.recording[Progress]
        if stop_ns is None and len(progress) and (self.end_ns or 0) - int(progress.time_ns[-1]) < _FLUSHES_NS:
            stop_ns = int(progress.cpu_ns[-1])
        if start_ns is None or stop_ns is None or stop_ns < start_ns:
            return None
        return stop_ns - start_ns


def line_of(entry: Any) -> Line | None:
    """Returns a line that collectors wrote into meta; None if it is not valid."""
    place = entry if isinstance(entry, dict) else {}
    file, line, function = place.get("file"), place.get("line"), place.get("function")
    if isinstance(file, str) and type(line) is int and isinstance(function, str):
        return Line(file, line, function)
    return None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
