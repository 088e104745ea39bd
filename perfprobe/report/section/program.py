"""How a program is named in reports."""

from __future__ import annotations

from perfprobe.support.text import printable
from perfprobe.tables.recording import Recording
from perfprobe.tables.trace import Trace

LONGEST_PROGRAM = 100


def program(trace: Trace) -> str:
    """The command line of the program without the interpreter; for a profile of cProfile its file."""
    return command(trace.recording)


def command(recording: Recording) -> str:
    """The same, of a recording."""
    profile = recording.text("pstats")
    if profile is not None:
        return printable(profile)
    argv = recording.texts("program", "argv")
    module = recording.text("program", "module")
    if module is not None:
        return printable(" ".join(["-m", module, *argv[1:]]))
    return printable(" ".join(argv)) if argv else "-"
