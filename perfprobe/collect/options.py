"""What a recording shall hold."""

from __future__ import annotations

from perfprobe.support.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OPERATOR_SOURCES = ("observer", "autograd", "both", "off")
PYTHON_SOURCES = ("both", "cprofile", "sample", "off")
CPU_TIMES = ("off", "outermost", "all")
GPU_SOURCES = ("auto", "cupti", "off")
GPU_LINKS = ("time", "exact")
EMITTERS = ("nvtx", "itt")
BUFFER_BYTES = 32 << 20
SMALLEST_BUFFER_BYTES = 4 << 20

_CHOICES = {
    "operators": ("operator source", OPERATOR_SOURCES),
    "python": ("source of Python functions", PYTHON_SOURCES),
    "cpu_time": ("choice of operators to read CPU time of", CPU_TIMES),
    "gpu": ("source of GPU records", GPU_SOURCES),
    "gpu_links": ("way to link kernels", GPU_LINKS),
    "emit": ("kind of ranges to emit", (None, *EMITTERS)),
}


class Options:
    """What to record. Given by keyword; each attribute stands below with its default.

    Raises:
        UsageError: a value that does not exist, memory without the autograd profiler, or cProfile with it.
    """

    # "observer", "autograd" (torch.profiler in its place), "both", or "off" for none.
    operators: str = "observer"
    # Whose CPU time is recorded, of the thread they run on: "outermost" operators, "all", or "off" for none.
    # True is "outermost".
    cpu_time: str = "off"
    # Memory for events on their way to the disk, 4 MiB at least.
    buffer_bytes: int = BUFFER_BYTES
    # Also record what operators allocate and free; only the autograd profiler can.
    memory: bool = False
    # Who records Python functions: "both" (the sampler for times, cProfile for counts as long as it costs
    # little), "cprofile" (alone, to the end), "sample" (the sampler alone), or "off".
    python: str = "both"
    # Who records kernels and copies: "auto" (CUPTI where there is a driver), "cupti" (its lack is worth a
    # word), or "off".
    gpu: str = "auto"
    # How a kernel finds its operator: by "time", or "exact" by a number that CUPTI hands on.
    gpu_links: str = "time"
    # Also record the ranges that the program and its libraries set through NVTX and ITT.
    ranges: bool = True
    # "nvtx" or "itt": set every operator, step and phase as a range for another tool; None for none.
    emit: str | None = None
    # Keep the program's command line as it is; else what looks like a secret is masked.
    keep_argv: bool = False

    def __init__(self, **given: Any) -> None:
        names = list(Options.__annotations__)
        for name in names:
            setattr(self, name, given.pop(name, getattr(Options, name)))
        if given:
            raise TypeError(f"there is no option {', '.join(given)}; there are {', '.join(names)}")
        if isinstance(self.cpu_time, bool):
            self.cpu_time = "outermost" if self.cpu_time else "off"
        for name, (what, known) in _CHOICES.items():
            if getattr(self, name) not in known:
                raise UsageError(f"there is no {what} {getattr(self, name)!r}", "", f"choose from {known}")
        self._check_together()

    def _check_together(self) -> None:
        if self.buffer_bytes < SMALLEST_BUFFER_BYTES:
            raise UsageError(
                f"a buffer of {self.buffer_bytes} bytes is too small", "", "give it 4 MiB or more"
            )
        with_autograd = self.operators in ("autograd", "both")
        if self.memory and not with_autograd:
            raise UsageError(
                f"memory cannot be recorded with operators from {self.operators!r}",
                "",
                "add --operators both, or --operators autograd",
            )
        if self.emit is not None and self.operators in ("autograd", "off"):
            raise UsageError(
                f"ranges cannot be emitted with operators from {self.operators!r}: the observer emits them",
                "",
                "add --operators observer, or leave --emit out",
            )
        if self.python == "cprofile" and with_autograd:
            raise UsageError(
                f"cProfile cannot count beside operators from {self.operators!r}: both need one hook",
                "",
                "add --python sample, or --operators observer",
            )
