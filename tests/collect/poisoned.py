"""Runs perfprobe with a function of its own that gets a signal: `poisoned.py MODULE FUNCTION SIGNAL WORD...`.

The first call of the function sends the signal to this process and then runs many bytecodes, between any two
of which Python would run the handler. SIGNAL is a name, or "interrupt_main" for `_thread.interrupt_main()`.
"""

from __future__ import annotations

import _thread
import importlib
import signal
import sys
from typing import Any


def send(name: str) -> None:
    """Sends the signal and runs bytecodes."""
    if name == "interrupt_main":
        _thread.interrupt_main()
    else:
        signal.raise_signal(getattr(signal, name))
    for _ in range(100):
        len(name)


def poison(module: str, function: str, name: str) -> None:
    """Replaces the function, `Class.method` for a method."""
    owner: Any = importlib.import_module(module)
    *path, last = function.split(".")
    for part in path:
        owner = getattr(owner, part)
    original, left = vars(owner)[last], [name]

    def poisoned(*args: Any, **kwargs: Any) -> Any:
        if left:
            send(left.pop())
        return getattr(original, "__wrapped__", original)(*args, **kwargs)

    undisturbed = importlib.import_module("perfprobe.collect.held_signals").undisturbed
    # A poisoned method that ran undisturbed still does.
    setattr(owner, last, undisturbed(poisoned) if hasattr(original, "__wrapped__") else poisoned)


if __name__ == "__main__":
    poison(*sys.argv[1:4])
    del sys.argv[1:4]
    from perfprobe.cli import main

    sys.exit(main())
