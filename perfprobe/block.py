"""Records a block of code of a program: `with perfprobe.profile("run.perfprobe") as p: ...`."""

from __future__ import annotations

import os
import sys

from perfprobe.collect import host
from perfprobe.collect.destination import default_path
from perfprobe.collect.held_signals import entering, undisturbed
from perfprobe.collect.options import BUFFER_BYTES, Options
from perfprobe.results import Results
from perfprobe.session import Session
from perfprobe.support.errors import UsageError
from perfprobe.support.text import encodable, harmless, printable
from perfprobe.support.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any


class Profile:
    """Records what happens inside a `with` block; made by `perfprobe.profile`."""

    def __init__(self, path: str | os.PathLike[str] | None, options: Options) -> None:
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        self._named = path is not None
        self._ended = False
        stem = os.path.splitext(os.path.basename(main or "session"))[0]
        self.path = os.path.abspath(path) if path is not None else default_path(stem, host.rank())
        program = {
            "argv": list(sys.argv),
            "script": main,
            "module": None,
            "cwd": os.getcwd(),
            "is_block": True,
        }
        folder = os.path.dirname(os.path.abspath(main)) if main else os.getcwd()
        self._session = Session(program, folder, options, tell=_tell)

    def _enter(self) -> Profile:
        self._session.start(self.path, named=self._named)
        self.path = self._session.path
        self._session.begin()
        return self

    @undisturbed
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._session.stop("returned" if kind is None else kind.__name__)
        self._ended = True

    __enter__ = entering(_enter, __exit__)

    def report(  # noqa: PLR0913 (each is an option of its own)
        self,
        *,
        top: int | None = None,
        sort: str = "self",
        group: str = "row",
        focus: str | None = None,
        columns: str = "short",
        package: str | None = None,
        full: bool = False,
        view: str | None = None,
        brief: bool = False,
    ) -> None:
        """Print the report to standard output. The block must have ended.

        Args:
            top: how many rows of the table; None for the report's own choice, 0 for all.
            sort: "self", "total", "calls", "mean", "median", "p95" or "gpu" (time on GPUs).
            group: what a row is: "row" (operator, signature, line and phase), "op", "signature", "line" or
                "module".
            focus: a regular expression. Only rows that match are shown.
            columns: "short", "autograd" (those of torch's own table) or "all".
            package: show modules, and lines in these installed packages (names separated by commas). None:
                in the packages that define the model, if one line of the program has most time.
            full: print all sections. Otherwise only the first screen is printed, unless one of the above is
                given.
            view: print only one section, such as "operators", or one table in the form of another profiler,
                such as "tb.operator". `perfprobe explain` lists all of them.
            brief: 40 lines of Markdown.

        Raises:
            UsageError: a value is not valid, or the block has not ended.
        """
        chosen = View(**_options(locals(), "self"))
        if not self._ended:
            raise UsageError(
                "there is nothing to report yet", self.path, "call report() after the with block"
            )
        text = host.apart(lambda: Results(self.path).text(chosen))
        sys.stdout.write(encodable(harmless(text), getattr(sys.stdout, "encoding", None)))

    def _repr_html_(self) -> str | None:
        """The page, which a notebook shows if this is the last value of a cell; None before the block ended.

        It is a document of its own, whose script reaches nothing of the notebook.
        """
        if not self._ended:
            return None
        page = host.apart(lambda: b"".join(Results(self.path).page(View())).decode())
        text = page.replace("&", "&amp;").replace('"', "&quot;")
        about = 'title="perfprobe report" width="100%" height="760" style="border:0"'
        return f'<iframe sandbox="allow-scripts" {about} srcdoc="{text}"></iframe>'


def profile(  # noqa: PLR0913 (each is an option of its own)
    path: str | os.PathLike[str] | None = None,
    *,
    operators: str = "observer",
    cpu_time: str | bool = "off",
    detail: str | None = None,
    buffer_bytes: int = BUFFER_BYTES,
    memory: bool = False,
    python: str = "both",
    native: bool = False,
    counters: bool = False,
    gpu: str = "auto",
    gpu_links: str = "time",
    gpu_graphs: str = "nodes",
    ranges: bool = True,
    emit: str | None = None,
    keep_argv: bool = False,
    benchmark: bool = False,
    warmup: int = 10,
    every_step_line: int | None = None,
) -> Profile:
    """Record a block of code: `with perfprobe.profile("run.perfprobe") as p: ...`, then `p.report()`.

    Args:
        path: the recording to write, which must not exist. None: a name with date and PID, in `.perfprobe/`.
        operators: the source of operators: "observer", "autograd" (autograd profiler), "both" or "off".
        cpu_time: "outermost" (or True): also record the CPU time of outermost operators, with what they call;
            "off" for none. Only CPU time of the calling thread counts. A reading costs 0.4 us.
        detail: "bench": also record what `perfprobe bench` needs to repeat calls: CPU time and page faults of
            all operators, how long ago operands were last touched, and values in later calls.
        buffer_bytes: memory for events that are not yet written to the disk, at least 4 MiB.
        memory: also record the memory of tensors: what is allocated, freed and held, by operator and line.
        python: the source of Python functions: "sample" (times), "cprofile" (counts), "both" or "off".
        native: also sample the instruction address of all threads, if the kernel permits it.
        counters: also count cycles, misses, page faults and others, as far as the kernel permits it.
        gpu: the source of kernels and copies: "auto" or "cupti", which slows launches ever after; or "off".
        gpu_links: how a kernel is linked to its operator: by "time", or "exact" (costs more an operator).
        gpu_graphs: what to record of CUDA graphs: their "nodes", or each "launch" as a whole.
        ranges: also record the ranges that the program and its libraries set through NVTX and ITT.
        emit: "nvtx" or "itt": set every operator, step and phase as a range for another tool.
        keep_argv: record the program's arguments without replacing by *** what looks like a secret.
        benchmark: record only when steps begin and end, and how long they wait for data.
        warmup: how many steps at the beginning a benchmark leaves out.
        every_step_line: with a benchmark, print a line on standard error after every so many steps.

    Raises:
        UsageError: a value is not valid; on entering also if the file exists, or a recording is being made.
        EnvironmentLack: on entering, if the recorder is not built, or the file cannot be written.
    """
    return Profile(path, Options(**_options(locals(), "path")))


def _options(arguments: dict[str, Any], other: str) -> dict[str, Any]:
    """All arguments except one. Each is the option of the same name, which a test checks."""
    return {name: value for name, value in arguments.items() if name != other}


def _tell(line: str) -> None:
    # In a notebook sys.stderr is the cell's output, unlike descriptor 2.
    if sys.stderr is not None:
        sys.stderr.write(f"perfprobe: {printable(line)}\n")
