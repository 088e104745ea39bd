"""`perfprobe run`, the default command: records a program and prints the report."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` would import enum
import atexit
import os
from os import getpid
from sys import getrecursionlimit, setrecursionlimit

from perfprobe import __version__
from perfprobe.cli import BEGUN_CPU_NS, COMMANDS, guarded
from perfprobe.cli.after import ReportChild
from perfprobe.cli.before import make_observer
from perfprobe.cli.config import add_config, said_with, use_config
from perfprobe.cli.options import (
    PROGRAM_OPTIONS,
    Output,
    Parser,
    absolute,
    add_options,
    chosen,
    names_in,
    view,
    writable,
)
from perfprobe.collect import held_signals
from perfprobe.collect.base import Stderr, fault
from perfprobe.collect.destination import SUFFIX, default_path, with_rank
from perfprobe.collect.held_signals import undisturbed
from perfprobe.collect.host import rank
from perfprobe.collect.options import CHANGED, Options
from perfprobe.collect.own_folder import remove_recording
from perfprobe.collect.program import Program, current_folder
from perfprobe.collect.runner import Ending, run, run_missing
from perfprobe.collect.tries.declared import TRIES, asked, usages
from perfprobe.session import Session
from perfprobe.support.errors import UsageError
from perfprobe.support.graph_view import picture
from perfprobe.support.nearest import nearest
from perfprobe.support.scarcity import scarcity
from perfprobe.support.text import printable
from perfprobe.support.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

_TRIES = ", ".join(way for name in TRIES for way in usages(name))
_END = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}  # signals that ask a process to end
_OWN_DEPTH = 1000  # the interpreter's default limit of recursion
_USAGE = """\
perfprobe [run] [OPTIONS] script.py | -m MODULE | -c CODE | - [ARGS]
       perfprobe COMMAND [OPTIONS]"""

_DESCRIPTION = "Run a PyTorch program unchanged, record it, and print where its time went."

_EXAMPLES = """\
examples:
  perfprobe train.py --epochs 1          arguments of the script come after it
  perfprobe report                       print the newest report again
  perfprobe --top 40 --sort calls train.py
  perfprobe -o run.perfprobe -m package.train
  perfprobe -q --json run.json train.py          the report as JSON only
  torchrun --nproc-per-node 2 -m perfprobe train.py     one file for each rank
  perfprobe --callgraph graph.png train.py       also draw the call graph
  perfprobe --html run.html train.py             also a page for the browser
  perfprobe report run.perfprobe                 print the report again
  perfprobe bench run.perfprobe                  are its operators efficient?
  perfprobe doctor                               what works on this machine?

The first screen of the report has the steps, the slowest line, and the hottest
operators with their input shapes and source lines. Backward operators are shown
at the line of their forward call. --full adds all sections. The report goes to
standard error. The program's output, exit code and behaviour are the same as
under plain python. `python -m perfprobe` is the same as `perfprobe`.
`perfprobe report` also reads the recording of a program that was killed.
Exit code: that of the program. perfprobe's own: 2 wrong usage, 3 bad input,
4 something is missing.
"""


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Check the words. The function that is returned starts recording and runs the program."""
    options = parser()
    place = options.split(words, PROGRAM_OPTIONS)
    configured = use_config(options, words[:place])
    given = options.parse_args(words[:place])
    program = _program(words[place:])
    asked(given.tries)
    stderr = Stderr()
    if program.missing:
        _check_mistyped(program, words[place])
        return lambda: run_missing(program)
    try:
        recorded = Options(**chosen(given, Options), tries=given.tries)
    except UsageError as error:
        raise said_with(error, configured) from error
    about, folder = _about(program), program.folder
    make_observer(recorded, program.first_on_path, quiet=(rank() or {"rank": 0})["rank"] > 0)
    session = Session(about, folder, recorded, tell=stderr.tell, follow=True, begun_cpu_ns=BEGUN_CPU_NS)
    report = _report_child(given, stderr)
    path, ending = _path(given, program), Ending()

    def start() -> int:
        session.start(path, named=given.output is not None)
        # Before the program's own: handlers run in reverse order.
        atexit.register(undisturbed(Finish(session, ending, report, stderr)))
        return 0

    @undisturbed  # A signal that comes before the program reaches it at its first line.
    def action() -> int:
        status: int = guarded(start)
        if status == 0:
            run(program, ending, session)
        return status

    return action


class Finish:
    """Ends the recording and prints the report. It runs when threads and atexit handlers have ended."""

    def __init__(self, session: Session, ending: Ending, report: ReportChild, stderr: Stderr) -> None:
        self._session = session
        self._ending = ending
        self._report = report
        self._stderr = stderr
        self._process = getpid()

    def __call__(self) -> None:
        if getpid() != self._process:
            return  # a forked child that ends like a separate program
        path = self._session.path
        limit = getrecursionlimit()
        setrecursionlimit(max(limit, _OWN_DEPTH))  # the program may have set a limit that is too low for us
        try:
            self._session.stop(self._ending.text)
            if self._ending.is_of_start:
                remove_recording(path)
                return
            _be_interruptible()
            self._report.print(path)
        except KeyboardInterrupt:
            self._stderr.tell(f"interrupted; the recording is {printable(path)}")
        except Exception as error:
            where = f"the recording is {printable(path)}"
            why = "; ".join(scarcity(error) or (fault(error),))
            self._stderr.tell(f"the report was not printed ({why}); {where}")
        finally:
            setrecursionlimit(limit)


def _be_interruptible() -> None:
    """The program has ended: none of its signal handlers runs any more, and Ctrl-C ends the report.

    A signal that the program handled does not end the process now: its exit code is the program's.
    """
    for number in range(1, signal.NSIG):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.default_int_handler if number in _END else _ignore)
    if not _END.isdisjoint(held_signals.drop()):
        raise KeyboardInterrupt


def _ignore(_number: int, _frame: object) -> None:
    """Does nothing. Unlike with SIG_IGN, processes that are started do not ignore the signal."""


def parser() -> Parser:
    """The options of `run`. Its help is also that of perfprobe, so it names all commands."""
    commands = "\n".join(f"  {name:12}{summary}" for name, (_, summary) in COMMANDS.items())
    description = f"{_DESCRIPTION}\n\ncommands, each with its own --help:\n{commands}"
    parser = Parser("run", usage=_USAGE, description=description, epilog=_EXAMPLES)
    parser.add("-m", metavar="MODULE", dest="module", help="run a module, as `python -m` does")
    parser.add("-c", metavar="CODE", dest="code", help="run code, as `python -c` does")
    parser.add("--version", action="version", version=f"perfprobe {__version__}")
    _add_tries(parser)
    add_options(parser, Options)
    parser.add(
        "-o",
        "--output",
        metavar="FILE",
        heading="what to print",
        brief="file for the recording",
        help="file for the recording, which must not exist (default: in .perfprobe/, named by script, date "
        "and PID)",
    )
    add_options(parser, View, ("full", "view"))
    add_options(parser, Output)
    parser.add(
        "--json",
        metavar="FILE",
        heading="what to print",
        help="also write the report as JSON at the end",
    )
    parser.add(
        "--callgraph",
        metavar="FILE",
        heading="what to print",
        help="also draw the call graph at the end: .png, .svg, .pdf or .dot",
    )
    parser.add(
        "--html",
        metavar="FILE",
        heading="what to print",
        help="also write the report as one HTML page at the end",
    )
    parser.add(
        "-q",
        "--quiet",
        action="store_true",
        heading="what to print",
        help="print no report, only where the recording is",
    )
    add_config(parser)
    return parser


def _add_tries(parser: Parser) -> None:
    parser.add(
        "--try",
        action="append",
        default=[],
        dest="tries",
        metavar="WORD",
        heading=CHANGED,
        help=f"run the program with this change, put on from outside; may be repeated: {_TRIES}",
    )


def _program(words: Sequence[str]) -> Program:
    if words[:1] == ["--"]:
        words = words[1:]
    elif words and words[0].startswith(PROGRAM_OPTIONS):
        option, attached = words[0][:2], words[0][2:]
        return Program([attached, *words[1:]] if attached else words[1:], option)
    word = words[0] if words else ""
    if word.endswith(SUFFIX) and os.path.isfile(word):
        meant = f"perfprobe report {word}"
        raise UsageError("this is a recording, not a script", word, f"did you mean `{meant}`?")
    return Program(words)


def _check_mistyped(program: Program, word: str) -> None:
    """Raises UsageError if there is no such script, but a command or script of a similar name."""
    if not isinstance(program.missing, str) or os.path.lexists(word):
        return
    folder, name = os.path.split(word)
    meant = {file: os.path.join(folder, file) for file in names_in(folder, ".py")}
    if name == word:
        options = {"help": "--help", "version": "--version"}
        meant |= {name: f"perfprobe {options.get(name, name)}" for name in (*COMMANDS, *options)}
    near = nearest(name, meant)
    if near is not None:
        remedy = f"did you mean `{meant[near]}`?"
        raise UsageError("there is no such script and no such command", word, remedy)


def _about(program: Program) -> dict[str, object]:
    """The meta value `program`: the program's name and arguments as it sees them."""
    shown = program.argv if program.kind != "module" else [program.name, *program.argv[1:]]
    return {
        "argv": shown,
        "script": program.file or None,
        "module": program.name or None,
        "cwd": current_folder(),
    }


def _path(given: argparse.Namespace, program: Program) -> str:
    if given.output is None:
        return default_path(program.stem, rank())
    return with_rank(absolute(given.output), rank())


def _report_child(given: argparse.Namespace, stderr: Stderr) -> ReportChild:
    here = rank()
    json_file = None if given.json is None else with_rank(writable(given.json), here)
    callgraph = None if given.callgraph is None else with_rank(writable(picture(given.callgraph)), here)
    html = None if given.html is None else with_rank(writable(given.html), here)
    quiet = given.quiet or (here is not None and here["rank"] > 0)
    files = {"json_file": json_file, "callgraph": callgraph, "html": html}
    return ReportChild(stderr, view(given), files, table=not quiet, color=given.color)
