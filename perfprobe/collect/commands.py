"""Identifies processes that the program starts: the name without arguments, and how to record them."""

from __future__ import annotations

import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 80  # characters of a command

PYTHON, LAUNCHER, SHELL, OTHER = "python", "launcher", "shell", "other"
COMPILER = "compiler"  # started by torch.compile for its own work

LAUNCHERS = {
    "torchrun": "torchrun ... -m perfprobe {}",
    "torch.distributed.run": "torchrun ... -m perfprobe {}",
    "torch.distributed.launch": "torchrun ... -m perfprobe {}",
    "accelerate": "accelerate launch ... -m perfprobe {}",
    "accelerate.commands.launch": "accelerate launch ... -m perfprobe {}",
    "deepspeed": "deepspeed ... --module perfprobe {}",
    "mpirun": "mpirun ... python -m perfprobe {}",
    "mpiexec": "mpiexec ... python -m perfprobe {}",
    "srun": "srun ... python -m perfprobe {}",
}

_PYTHON = re.compile(r"(python|pypy)[\d.]*w?")
_SHELLS = ("sh", "bash", "dash", "zsh")
_PLAIN_SHELL = re.compile(r"[\w@%+=:,./ -]*")  # words only, without characters that a shell would interpret
_PLAIN_WORD = re.compile(r"[\w@%+:,./-]+")
_RUNS_PYTHON = re.compile(r"(^|[\s/;&|(])(python[\d.]*|torchrun|accelerate|deepspeed)\s")
_CLUSTER = re.compile(r"-([bBdEhiIOPqRsSuvVx?]*)([cm])(.*)", re.DOTALL)
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


class Command:
    """What is kept of a command line.

    Attributes:
        kind: PYTHON, LAUNCHER (which starts Python processes), SHELL (with Python in it) or OTHER.
        text: the program, and for Python the script or module. Arguments are left out, because they may be
            secrets.
        target: what Python runs; "" if not known.
    """

    def __init__(self, kind: str, text: str, target: str = "", flags: str = "") -> None:
        self.kind = kind
        self.text = text[:LONGEST]
        self.target = target
        self._flags = flags

    @property
    def records_itself(self) -> bool:
        """Whether it starts perfprobe."""
        return self.target in ("-m perfprobe", "perfprobe")

    def recipe(self, launcher: str | None) -> str:
        """Returns the command that would record it; "" for none. launcher: its parent, one of `LAUNCHERS`."""
        target = self.target or "script.py"
        if launcher is not None and self.kind == PYTHON:
            return LAUNCHERS[launcher].format(target)
        if self.kind == LAUNCHER:
            return LAUNCHERS[self.text].format("train.py")
        if self.kind == PYTHON:
            return f"python {self._flags}-m perfprobe {target} ..."
        return "put `-m perfprobe` after its `python`" if self.kind == SHELL else ""


def command(words: Sequence[str]) -> Command:
    """Identifies a command line."""
    while words and ("=" in words[0].partition("/")[0] or words[0] in ("env", "exec", "nohup", "time")):
        words = words[1:]  # variables, and programs that only start another one
    if not words:
        return Command(OTHER, "(empty)")
    name = os.path.basename((words[0].split() or [""])[0])  # arguments in the same word are left out too
    if name in _SHELLS and "-c" in words[:-1]:
        return _of_shell(words[words.index("-c") + 1])
    if _PYTHON.fullmatch(name) or words[0] == sys.executable:
        return _of_python(words[1:])
    if name == "perfprobe":
        return Command(OTHER, name, name)
    return Command(LAUNCHER if name in LAUNCHERS else OTHER, name)


def launcher_of(module: str, script: str) -> str | None:
    """Returns the name of a program that is a launcher; None for others."""
    names = (module, os.path.basename(script))
    return next((name for name in names if name in LAUNCHERS), None)


def _of_shell(text: str) -> Command:
    if _PLAIN_SHELL.fullmatch(text):
        return command(text.split())
    if _RUNS_PYTHON.search(text + " ") is not None:
        return Command(SHELL, "a shell with python in it")
    first = (text.split() or ["sh"])[0]
    # Not the value of a variable: TOKEN='...' curl
    return Command(OTHER, os.path.basename(first) if _PLAIN_WORD.fullmatch(first) else "a shell")


def _of_python(words: Sequence[str]) -> Command:
    flags: list[str] = []
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        letters = _CLUSTER.match(words[at])
        if letters is not None:  # -m, -mMODULE, -um MODULE, and the same of -c
            flags += [f"-{letters[1]}"] if letters[1] else []
            return _of_option(
                letters[2], [letters[3], *words[at + 1 :]] if letters[3] else words[at + 1 :], flags
            )
        taken = 2 if words[at] in _WITH_VALUE else 1
        flags += words[at : at + taken]
        at += taken
    return _of_target(words[at] if at < len(words) else "", flags)


def _of_option(option: str, values: Sequence[str], flags: Sequence[str]) -> Command:
    """What runs with `-m MODULE` or `-c CODE`. Code may hold secrets, as arguments do."""
    if option == "c":
        return _of_target("-c CODE", flags)
    if values and values[0] in LAUNCHERS:
        return Command(LAUNCHER, values[0])
    return _of_target(" ".join(["-m", *values[:1]]), flags)


def _of_target(target: str, flags: Sequence[str]) -> Command:
    return Command(PYTHON, f"python {target}".rstrip(), target, "".join(f"{flag} " for flag in flags))
