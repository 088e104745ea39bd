"""`perfprobe threads`: finds problems with threads, and measures which setting is best."""

from __future__ import annotations

import json
import os
import shlex

from perfprobe.cli.machine import roofline_file
from perfprobe.cli.options import Output, Parser, add_options, existing, seconds, steps, writable
from perfprobe.cli.progress import Bar
from perfprobe.cli.report import newest, write
from perfprobe.cli.terminal import colored, width
from perfprobe.support.errors import UsageError
from perfprobe.support.masking.words import masked
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

ROUNDS = 10
TIME_S = 600.0

_DESCRIPTION = """\
Check whether the number of threads of a recorded program is a problem, at which
line, and which setting solves it. With --sweep, the whole program is run
several times with each setting and without any, in random order, until it is
known what they gain: the mean of all pairs, with its interval."""
_USAGE = """\
perfprobe threads [FILE] [OPTIONS]
       perfprobe threads --sweep LIST [OPTIONS] -- PROGRAM [ARGS]"""
_EXAMPLES = """\
examples:
  perfprobe threads                          the newest recording here
  perfprobe threads --plot threads.png       active threads over time
  perfprobe threads --sweep 1,2 -- train.py --epochs 1
  perfprobe threads --sweep 1,2,2+passive,2+close -- train.py
  perfprobe threads --sweep 1,2 --workers 0,2 -- train.py --workers {workers}
  perfprobe threads --commands -- train.py   for VTune, Nsight Systems and perf

A setting is a number of threads (OMP_NUM_THREADS), optionally with +active or
+passive (OMP_WAIT_POLICY), +close or +spread (OMP_PROC_BIND). If the program
calls torch.set_num_threads itself, settings have no effect and a note says so.
"""


def parser() -> Parser:
    """The options of `threads`."""
    parser = Parser("threads", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.usage = _USAGE
    parser.add_argument(
        "words",
        nargs="*",
        metavar="FILE",
        help="a recording (default: the newest one here); after --, a program and its arguments",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw active threads over time: .png, .svg or .pdf")
    parser.add_argument("--sweep", metavar="LIST", help="measure these settings: 1,2,4 or 2+passive")
    parser.add_argument(
        "--workers",
        metavar="LIST",
        help="with --sweep: also these numbers of workers, in place of {workers} in the arguments",
    )
    parser.add_argument(
        "--rounds",
        type=steps,
        metavar="N",
        help=f"with --sweep: runs with each setting at most (default: {ROUNDS})",
    )
    parser.add_argument(
        "--time",
        type=seconds,
        metavar="TIME",
        help="with --sweep: begin no round that would end after this time (default: 10m; 0 for no limit)",
    )
    parser.add_argument(
        "--commands", action="store_true", help="print commands for VTune, Nsight Systems and perf instead"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    add_options(parser, Output)
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Read the recording. The function that is returned prints, or measures."""
    from perfprobe.cli import guarded

    at = list(words).index("--") if "--" in words else len(words)
    given, program = parser().parse_args(list(words[:at])), list(words[at + 1 :])
    _check(given, program)
    if given.commands:
        return lambda: write(commands(program))
    if given.sweep is not None:
        return lambda: guarded(lambda: _sweep(given, program))
    return _shown(given)


def _check(given: argparse.Namespace, program: Sequence[str]) -> None:
    runs = given.sweep is not None or given.commands
    if given.sweep is not None and given.commands:
        raise UsageError("--commands measures nothing", "--sweep", "leave one of them out")
    if runs and not program:
        raise UsageError("there is no program to run", "", "write it after --: `-- train.py --epochs 1`")
    if program and not runs:
        raise UsageError("a program needs --sweep or --commands", program[0], "add --sweep 1,2 or --commands")
    if runs and (given.words or given.plot is not None):
        raise UsageError(
            "no recording is read with a program",
            given.words[0] if given.words else "--plot",
            "leave it out",
        )
    for name in ("workers", "rounds", "time"):
        if given.sweep is None and getattr(given, name) is not None:
            raise UsageError("this option is only for --sweep", f"--{name}", "leave it out")
    if len(given.words) > 1:
        raise UsageError("one recording at a time", given.words[1], "name one")


def _shown(given: argparse.Namespace) -> Callable[[], int]:
    from perfprobe.results import Results

    results = Results(existing(given.words[0]) if given.words else newest())
    if given.plot is not None:
        path = writable(roofline_file(given.plot))
        results.plot_threads(path)
        return lambda: write(f"the picture is {printable(path)}\n")
    if given.json:
        text = json.dumps(results.threads_document(), indent=1, allow_nan=False) + "\n"
    else:
        text = results.threads_text(width=width(), color=colored(given.color))
    return lambda: write(text)


def _sweep(given: argparse.Namespace, program: Sequence[str]) -> int:
    from perfprobe.experiment import sweep
    from perfprobe.experiment.thread_settings import settings

    asked = settings(given.sweep, given.workers)
    time_s = TIME_S if given.time is None else given.time or None
    with Bar("running") as bar:
        found = sweep.swept(program, asked, rounds=given.rounds or ROUNDS, time_s=time_s, progress=bar.show)
    if given.json:
        text = json.dumps(sweep.document(found), indent=1, allow_nan=False) + "\n"
    else:
        text = sweep.text(found, width=width(), color=colored(given.color))
    status = write(text)
    return found.exit_code or status


def commands(program: Sequence[str]) -> str:
    """Command lines that run the whole program under other tools, with perfprobe's ranges if possible.

    Secrets are masked, because what is printed is kept: in logs, in notebooks.
    """
    from perfprobe.bench.emit.commands import whole_program

    first = os.path.splitext(os.path.basename(program[0]))[0]
    shown = masked(program)
    lines = ["Put the secrets back in place of ***.\n"] if shown != list(program) else []
    for command in whole_program(shlex.join(shown), first if first and first[0] != "-" else "program"):
        lines += [f"{command.line}\n", f"    {command.tool}: {command.answers}\n"]
    return "".join(lines)
