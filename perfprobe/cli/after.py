"""The report at the end of a run, made by another process.

Reading a recording needs numpy, whose threads and memory must not appear in the program's process.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` would import enum
import json
import os
import sys
from itertools import chain
from json import dumps
from os import WIFSIGNALED, WTERMSIG, close, posix_spawn, waitpid
from time import process_time_ns

from perfprobe import native
from perfprobe.support import files, starter
from perfprobe.support.errors import EnvironmentLack
from perfprobe.support.scarcity import REPORT_BYTES, require_address_space
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from perfprobe.collect.base import Stderr
    from perfprobe.report.render.json import Document
    from perfprobe.support.view import View

# The streams of the other process, in the form that posix_spawn takes.
_SIGINT = signal.SIGINT
_ON_STANDARD_ERROR = (os.POSIX_SPAWN_DUP2, 2, 1)
_NOWHERE = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]


class ReportChild:
    """Prints the report on standard error, and writes JSON, call graph and page if requested.

    It is created before the program runs, because the program may change the environment, sys.path and the
    current folder.
    """

    def __init__(
        self, stderr: Stderr, view: View, files: Mapping[str, str | None], *, table: bool, color: str
    ) -> None:
        """files: paths to write, of `json_file`, `callgraph` and `html`. color: the value of `--color`."""
        self._stderr = stderr
        self._wanted = {"view": vars(view), **files, "table": table, "color": color}
        self._command = starter.command(__name__)
        # A report multiplies no matrices, and each thread of OpenBLAS takes 40 MB of address space.
        self._environment = {**starter.environment(), "OPENBLAS_NUM_THREADS": "1"}
        self._handed_text = native.core().handed_text

    def print(self, path: str) -> None:
        """Print the report on the recording at `path`, and the path."""
        self._stderr.drain()
        table = bool(self._wanted["table"]) and self._stderr.usable()
        files = (self._wanted[name] for name in ("json_file", "callgraph", "html"))
        if table or any(file is not None for file in files):
            self._run({**self._wanted, "recording": path, "table": table})
        self._stderr.tell(f"the recording is {printable(path)}")

    def _run(self, report: dict[str, object]) -> None:
        words, request = self._command, self._handed_text(dumps(report).encode())
        streams: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, request, 0)]
        streams += [_ON_STANDARD_ERROR] if self._stderr.usable() else _NOWHERE
        try:
            process = posix_spawn(
                words[0], words, self._environment, file_actions=streams, setsigmask=[_SIGINT]
            )
        finally:
            close(request)
        status = _wait(process)
        if status is not None and WIFSIGNALED(status):
            self._stderr.tell(f"the report was cut short: its process ended by signal {WTERMSIG(status)}")


def _wait(process: int) -> int | None:
    try:
        return waitpid(process, 0)[1]
    except ChildProcessError:
        return None  # the program ignores SIGCHLD, so the exit status is not known


def main() -> int:
    """The other process. Its standard output is the program's standard error, its input what to report.

    Ctrl-C sends SIGINT to both processes. It ends this one silently, because the other one prints the
    message. SIGINT is blocked (see `_run`) until the interpreter has started, whose own handler would raise.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    from perfprobe.cli import guarded

    status: int = guarded(lambda: _report(**json.load(sys.stdin)))
    return status


def _report(
    recording: str,
    *,
    view: dict[str, Any],
    json_file: str | None,
    callgraph: str | None,
    table: bool,
    html: str | None = None,
    color: str = "auto",
) -> int:
    require_address_space(REPORT_BYTES, "the report cannot be made")
    from perfprobe.cli.links import links_of
    from perfprobe.cli.progress import reading
    from perfprobe.cli.report import collect_garbage_seldom, write, write_file
    from perfprobe.cli.terminal import colored, width
    from perfprobe.results import Results
    from perfprobe.support import units
    from perfprobe.support.graph_view import GraphView
    from perfprobe.support.view import View

    collect_garbage_seldom()
    wanted, results = View(**view), Results(recording)
    if json_file is not None:
        _write_json(results.written(wanted), json_file)
    if table:
        with reading([recording]):
            text = results.text(wanted, width=width(), color=colored(color))
        took = units.duration(process_time_ns())
        write(f"{text}\nThis report took {took} of CPU time.\n", links_of(results, wanted, color))
    if callgraph is not None:
        results.draw(callgraph, GraphView())
        write(f"perfprobe: the call graph is {printable(callgraph)}\n")
    if html is not None:
        write_file(html, results.page(wanted))
        write(f"perfprobe: the page is {printable(html)}\n")
    return 0


def _write_json(document: Document, path: str) -> None:
    try:
        files.write(path, (piece.encode() for piece in chain(document.pieces(), ["\n"])))
    except OSError as error:
        raise EnvironmentLack(f"the JSON file cannot be written ({error.strerror})", path) from error
