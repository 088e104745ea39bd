"""What a recording shall hold."""

from __future__ import annotations

from perfprobe.support.errors import UsageError

OPERATOR_SOURCES = ("observer", "autograd", "both", "off")
PYTHON_SOURCES = ("both", "cprofile", "sample", "off")
BUFFER_BYTES = 32 << 20
SMALLEST_BUFFER_BYTES = 4 << 20


class Options:
    """What to record.

    Args:
        operators: "observer", "autograd" (torch.profiler in its place), "both", or "off" for none.
        cpu_time: also read the thread's CPU clock around outermost operators.
        buffer_bytes: memory for events on their way to the disk, 4 MiB at least.
        memory: also record what operators allocate and free; only the autograd profiler can.
        python: who records Python functions: "both" (the sampler for times, cProfile for counts as long as
            it costs little), "cprofile" (alone, to the end), "sample" (the sampler alone), or "off".

    Raises:
        UsageError: a value that does not exist, memory without the autograd profiler, or cProfile with it.
    """

    def __init__(
        self,
        operators: str = "observer",
        cpu_time: bool = False,
        buffer_bytes: int = BUFFER_BYTES,
        memory: bool = False,
        python: str = "both",
    ) -> None:
        if operators not in OPERATOR_SOURCES:
            raise UsageError(
                f"there is no operator source {operators!r}", "", f"choose from {OPERATOR_SOURCES}"
            )
        if python not in PYTHON_SOURCES:
            raise UsageError(
                f"there is no source of Python functions {python!r}", "", f"choose from {PYTHON_SOURCES}"
            )
        if buffer_bytes < SMALLEST_BUFFER_BYTES:
            raise UsageError(f"a buffer of {buffer_bytes} bytes is too small", "", "give it 4 MiB or more")
        if memory and operators not in ("autograd", "both"):
            raise UsageError(
                f"memory cannot be recorded with operators from {operators!r}",
                "",
                "add --operators both, or --operators autograd",
            )
        if python == "cprofile" and operators in ("autograd", "both"):
            raise UsageError(
                f"cProfile cannot count beside operators from {operators!r}: both need one hook",
                "",
                "add --python sample, or --operators observer",
            )
        self.operators = operators
        self.cpu_time = cpu_time
        self.buffer_bytes = buffer_bytes
        self.memory = memory
        self.python = python
