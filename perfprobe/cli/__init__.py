"""The command line: a table of commands. An error becomes one line on stderr and an exit code."""

from __future__ import annotations

import importlib
import sys
from time import thread_time_ns

BEGUN_CPU_NS = thread_time_ns()  # CPU time of the main thread when perfprobe begins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

# A command's module, and what the command does. Each module has `parser() -> Parser` and `prepare(words) ->
# Callable[[], int]`; the latter finds everything wrong with the words, so that no error of ours is mixed up
# with one of the program, which runs in the call that follows.
COMMANDS = {
    "run": ("perfprobe.cli.run", "record a program and print the report (the default command)"),
    "report": ("perfprobe.cli.report", "print the report of a recording again"),
    "export": ("perfprobe.cli.export", "convert a recording to a file for other tools"),
    "graph": ("perfprobe.cli.graph", "draw the call graph of a recording: Python functions and operators"),
    # Not cli/list.py: it would hide the built-in `list` in this module.
    "list": ("perfprobe.cli.recordings", "list the recordings here"),
    "clean": ("perfprobe.cli.clean", "remove old recordings from .perfprobe/"),
    "bench": ("perfprobe.cli.bench", "measure how close operators come to the limits of this machine"),
    "threads": ("perfprobe.cli.threads", "find problems with threads, and measure thread settings"),
    "compare": ("perfprobe.cli.compare", "say what a change did: compare the runs of two versions"),
    "advise": ("perfprobe.cli.advise", "try changes on a program, and say what each gains"),
    "history": ("perfprobe.cli.history", "print successive versions of a program and what each gained"),
    "trigger": ("perfprobe.cli.trigger", "make a program started with --wait record some steps"),
    "machine": ("perfprobe.cli.machine", "measure the limits of this machine, such as memory bandwidth"),
    "doctor": ("perfprobe.cli.doctor", "check what works on this machine, and how to fix what does not"),
    "build": ("perfprobe.cli.build", "build the operator observer for the installed torch"),
    "explain": ("perfprobe.cli.explain", "explain a column, section, verdict, loss or option"),
    "completion": ("perfprobe.cli.completion", "print a shell completion script"),
}

_WITH_NUMPY = (
    "report",
    "export",
    "graph",
    "list",
    "clean",
    "bench",
    "threads",
    "compare",
    "advise",
    "history",
    "machine",
)
_FAULT = 1
_LACK = 4
_REFUSED = (ImportError, MemoryError, OSError)  # at any place, where the system is at its limits
_INTERRUPTED = 130


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code. A program that is run may end the process before.

    Raises:
        KeyboardInterrupt: before the command began. As with plain python, SIGINT then ends the process.
    """
    try:
        action = _prepared(words)
    except KeyboardInterrupt:
        action = _INTERRUPTED
    except _REFUSED as error:  # our own modules cannot be read
        sys.stderr.write(f"perfprobe: it cannot start: {error}\n")
        return _LACK
    if action == _INTERRUPTED:
        sys.excepthook = lambda *_: None
        raise KeyboardInterrupt
    return action if isinstance(action, int) else action()


def _prepared(words: Sequence[str] | None) -> Any:
    # Imported inside, so that an interrupt during imports, which take longest, shows no traceback.
    from perfprobe.collect.program import leave_launcher

    leave_launcher()
    given = list(sys.argv[1:] if words is None else words)
    name = given.pop(0) if given and given[0] in COMMANDS else "run"
    return guarded(lambda: _prepare(name, given))


def _prepare(name: str, words: list[str]) -> Any:
    if name in _WITH_NUMPY:
        from perfprobe.support.scarcity import REPORT_BYTES, require_address_space

        require_address_space(REPORT_BYTES, f"`perfprobe {name}` needs numpy")
    return module(name).prepare(words)


def module(name: str) -> Any:
    """The module of a command."""
    return importlib.import_module(COMMANDS[name][0])


def guarded(step: Callable[[], Any]) -> Any:
    """The result of `step`. If it fails, one line on standard error, and the exit code."""
    from perfprobe.collect.base import Stderr, fault
    from perfprobe.support.errors import PerfprobeError
    from perfprobe.support.scarcity import scarcity

    stderr = Stderr()
    try:
        return step()
    except PerfprobeError as error:
        stderr.tell(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:
        scarce, is_refused = scarcity(error), isinstance(error, _REFUSED)
        what = "perfprobe did not get what it needs" if is_refused else "internal error in perfprobe"
        stderr.tell(f"{what}: {fault(error)}" if scarce is None else "; ".join(scarce))
        return _LACK if is_refused or scarce is not None else _FAULT
