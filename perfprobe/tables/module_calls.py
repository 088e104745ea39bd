"""Calls of outermost modules, as the observer saw them begin."""

from __future__ import annotations

from perfprobe.tables.columns import MOST_EVENTS, Int32, Int64, Table, column
from perfprobe.tables.events import Threads
from perfprobe.tables.stacks import Modules, Stacks


class ModuleCalls(Table, name="module_calls", most_rows=MOST_EVENTS):
    """Calls of modules from outside of other modules, one row each, of Python code or TorchScript.

    Calls in which no operator runs are not counted, nor calls inside of 16,384 others. There are no rows
    with `--keep slow`, while operators are not recorded, and where `perfprobe doctor` says that frames are
    read through Python's public functions, which do not tell whether a call is a new one.
    """

    start_ns: Int64 = column("just before its first operator")
    thread: Int32 = column("the thread that called it", Threads)
    module: Int32 = column("the module, -1 if it has no name", Modules)
    stack: Int32 = column("the stack of its first operator", Stacks)
