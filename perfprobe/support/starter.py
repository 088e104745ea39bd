"""The command line and environment of perfprobe's own processes: they run no code of the current folder.

They import what this process would import, from the same places, in any folder: a json.py there is ignored.
The only exception is what the interpreter itself imports at start-up (`sitecustomize`, .pth files), as in any
Python process.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE = os.path.dirname(os.path.abspath(__file__))
_HOME = os.path.dirname(os.path.dirname(_HERE))
# Options of this interpreter that decide what is imported, and what is written beside it.
_FLAGS = {
    "isolated": "-I",
    "ignore_environment": "-E",
    "no_user_site": "-s",
    "no_site": "-S",
    "dont_write_bytecode": "-B",
}
_X_OPTIONS = ("utf8", "pycache_prefix", "gil")
# Variables that make an interpreter look for code elsewhere, or not end. sys.path is passed completely.
CODE_VARIABLES = ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONINSPECT")


def command(module: str, words: Sequence[str] = ()) -> list[str]:
    """Returns the command that runs `main()` of a module of perfprobe with this process's sys.path.

    What `main` returns is the exit code. Entries of sys.path that depend on the current folder are left out.

    Args:
        words: become `sys.argv[1:]`.
    """
    path = [_HOME, *(entry for entry in sys.path if isinstance(entry, str) and os.path.isabs(entry))]
    flags = [flag for name, flag in _FLAGS.items() if getattr(sys.flags, name)]
    for name in _X_OPTIONS:
        value = sys._xoptions.get(name)
        if value is not None:
            flags += ["-X", name if value is True else f"{name}={value}"]
    boot = os.path.join(_HERE, "boot.py")
    return [sys.executable, *flags, "-W", "ignore", boot, str(len(path)), *path, module, *words]


def environment(without: Sequence[str] = ()) -> dict[str, str]:
    """Returns this process's environment without `without` and variables that make other code run."""
    left_out = {*CODE_VARIABLES, *without}
    return {name: value for name, value in os.environ.items() if name not in left_out}
