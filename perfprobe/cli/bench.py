"""`perfprobe bench`: measures how close operators come to the limits of this machine."""

from __future__ import annotations

import json
import os

from perfprobe.cli.machine import roofline_file
from perfprobe.cli.options import Output, Parser, add_options, existing, rows, seconds, steps, writable
from perfprobe.cli.report import newest, write
from perfprobe.cli.terminal import colored, width
from perfprobe.collect.base import Stderr
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from perfprobe.bench.measure import BenchSettings
    from perfprobe.measuring import Task
    from perfprobe.tables.machine import Machine
    from perfprobe.tables.measurements import Measurements

TOP = 10
TIME_S = 180.0
SUFFIX = ".perfprobe"
_INTERRUPTED = 130

_DESCRIPTION = """\
Measure how close operators come to the limits of this machine. Each hot
operator of a recording is called again by itself, with the same shapes,
strides, dtypes and threads, in turn with kernels that show the machine's
limits. The hottest come first. It ends after 3 minutes (--time); Ctrl-C keeps
finished results. They are stored next to the recording, where
`perfprobe report` finds them."""
_EXAMPLES = """\
examples:
  perfprobe bench                            the newest recording here
  perfprobe bench train-20260102-101500-4711.perfprobe --top 20
  perfprobe bench --focus attention          only matching operators
  perfprobe bench --quick                    rough, in a fraction of the time
  perfprobe bench --sweep 1,2,4              the best number of threads for each
  perfprobe bench --plot roofline.png        also draw the roofline
  perfprobe bench --emit scripts             scripts for VTune, Nsight and perf
  perfprobe bench aten::bmm "f32[64,128,64]" "f32[64,64,128]"
  perfprobe bench _softmax "f32[64,256,256]" dim=-1 half_to_float=False

Write an operator's inputs as reports print them (`report --json` has them in
full). `perfprobe machine` measures the limits of this machine, once.
"""


def parser() -> Parser:
    """The options of `bench`."""
    parser = Parser("bench", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.usage = "perfprobe bench [FILE | OPERATOR INPUT ...] [OPTIONS]"
    parser.add(
        "words",
        nargs="*",
        metavar="FILE",
        heading="what to measure",
        brief=None,
        help="a recording (default: the newest one here), or an operator and its inputs",
    )
    parser.add(
        "--top",
        type=rows,
        metavar="N",
        heading="what to measure",
        brief=f"number of operators, 0 for all (default: {TOP})",
        help=f"number of operators to measure, 0 for all (default: {TOP})",
    )
    parser.add(
        "--focus",
        metavar="REGEX",
        heading="what to measure",
        brief="only calls in which operator, line or module matches",
        help="only calls in which operator, signature, line, module or phase matches",
    )
    _add_ways(parser)
    _add_prints(parser)
    return parser


def _add_ways(parser: Parser) -> None:
    """The options that say how to measure."""
    parser.add(
        "--threads",
        type=steps,
        metavar="N",
        heading="how to measure",
        brief=None,
        help="torch's threads (default: as recorded)",
    )
    parser.add(
        "--sweep",
        metavar="LIST",
        heading="how to measure",
        brief="with each number of threads: 1,2,4",
        help="measure each operator with each number of threads: 1,2,4",
    )
    parser.add(
        "--processes",
        type=steps,
        metavar="N",
        heading="how to measure",
        help="number of fresh processes (default: 3, or 5 if they disagree)",
    )
    parser.add(
        "--time",
        type=seconds,
        metavar="TIME",
        heading="how to measure",
        brief="time limit in total (default: 3m)",
        help="time limit in total: 90s, 10m, or 0 for none (default: 3m); the report lists what is left out",
    )
    parser.add(
        "--quick",
        action="store_true",
        heading="how to measure",
        brief="rough, in a fraction of the time",
        help="measure in one process, without trying any changes",
    )


def _add_prints(parser: Parser) -> None:
    """The options that say what to print or write."""
    parser.add(
        "--plot",
        metavar="FILE",
        heading="what to print",
        brief="draw the operators on the roofline",
        help="draw the operators on the roofline: .png, .svg or .pdf",
    )
    parser.add(
        "--emit",
        metavar="FOLDER",
        heading="what to print",
        brief="write scripts for other tools; measure nothing",
        help="write a script for each operator, for other tools; measure nothing",
    )
    parser.add(
        "--json",
        action="store_true",
        heading="what to print",
        brief=None,
        help="print JSON instead of a table",
    )
    add_options(parser, Output)
    parser.add(
        "-o",
        "--output",
        metavar="FILE",
        heading="what to print",
        help="file for the measurements (default: next to the recording)",
    )


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Choose what to measure. The function that is returned measures, or writes scripts."""
    from perfprobe import measuring
    from perfprobe.cli import guarded

    given = parser().parse_intermixed_args(words)
    _check(given)
    if given.plot is not None:
        given.plot = writable(roofline_file(given.plot))
        measuring.require_matplotlib()
    if given.output is not None:
        given.output = writable(given.output)
    task = _task(given)
    if given.sweep is not None:
        task = measuring.with_threads(task, given.sweep)
    measuring.require_torch()
    machine = measuring.kept_machine(task) if given.plot is not None else None
    if given.plot is not None and machine is None:
        remedy = "measure them with `perfprobe machine`, in a minute"
        raise EnvironmentLack("the limits of this machine are not known", "--plot", remedy)
    if given.emit is not None:
        return lambda: guarded(lambda: _emit(task, given.emit))
    return lambda: guarded(lambda: _bench(task, given, machine))


def _check(given: argparse.Namespace) -> None:
    if given.emit is not None:
        for name in ("plot", "output", "json", "quick", "processes", "time", "sweep"):
            if (value := getattr(given, name)) is not None and value is not False:
                raise UsageError("--emit measures nothing", f"--{name}", "leave one of them out")
    for name in ("plot", "output", "threads") if given.sweep is not None else ():
        if getattr(given, name) is not None:
            raise UsageError("this cannot be combined with --sweep", f"--{name}", "leave one out")
    if given.quick and given.processes:
        raise UsageError("--quick is one process", "--processes", "leave one of them out")


def _task(given: argparse.Namespace) -> Task:
    from perfprobe import measuring

    first, *inputs = given.words or [None]
    if first is None:
        first = newest()
    elif _is_operator(first, inputs):
        for name in ("top", "focus"):
            if getattr(given, name) is not None:
                raise UsageError("this is for recordings only", f"--{name}", "leave it out")
        return measuring.by_hand(first, inputs, given.threads)
    if inputs:
        raise UsageError("a recording takes no inputs", inputs[0], "name one recording, or an operator")
    top = TOP if given.top is None else given.top
    return measuring.of_recording(existing(first), top=top, focus=given.focus, threads=given.threads)


def _is_operator(first: str, inputs: Sequence[str]) -> bool:
    """Whether the first word is an operator: inputs follow, or it is not a file or `*.perfprobe`."""
    if first.endswith(SUFFIX) or os.sep in first:
        return False
    return "::" in first or bool(inputs) or not (os.path.exists(first) or "." in first)


def _bench(task: Task, given: argparse.Namespace, machine: Machine | None) -> int:
    from perfprobe import measuring
    from perfprobe.bench.measure import INTERRUPTED
    from perfprobe.cli.progress import Bar

    with Bar("measuring") as bar:
        bar.show(0, len(task.calls), "starting")
        found = measuring.measured(
            task,
            _settings(given),
            lambda done, all_, left_s, what: bar.show(done, all_, what, left_s),
        )
    measuring.check_typed(task, found)
    if found.rows and given.sweep is None:
        _save(task, found, given.output)
    status = write(_printed(task, found, given))
    if machine is not None and found.rows:
        measuring.draw_roofline(machine, given.plot, found)
        Stderr().tell(printable(f"the roofline is {given.plot}"))
    return _INTERRUPTED if found.stopped == INTERRUPTED else status


def _settings(given: argparse.Namespace) -> BenchSettings:
    from perfprobe.bench.measure import BenchSettings

    time_s = TIME_S if given.time is None else given.time or None
    processes = 1 if given.quick else given.processes
    changes = not given.quick and given.sweep is None
    if processes is None:
        return BenchSettings(counterfactuals=changes, time_s=time_s)
    return BenchSettings(processes, processes, counterfactuals=changes, time_s=time_s)


def _save(task: Task, found: Measurements, output: str | None) -> None:
    """Save the measurements. If the folder cannot be written, only say so, as the results are printed."""
    from perfprobe import measuring

    try:
        path = measuring.save(task, found, output)
    except EnvironmentLack as missing:
        Stderr().tell(str(missing))
        return
    if path is not None:
        Stderr().tell(printable(f"the measurements are {path}"))


def _printed(task: Task, found: Measurements, given: argparse.Namespace) -> str:
    from perfprobe import measuring

    if given.json:
        return json.dumps(measuring.document(task, found), indent=1, allow_nan=False) + "\n"
    shown = measuring.text if given.sweep is None else measuring.sweep_text
    return shown(found, width=width(), color=colored(given.color))


def _emit(task: Task, folder: str) -> int:
    from perfprobe import measuring

    return write(measuring.emit(task, folder))
