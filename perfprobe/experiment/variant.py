"""A version of a program: its command, environment, folder and interpreter."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field

from perfprobe.support.errors import UsageError
from perfprobe.support.frozen import frozen
from perfprobe.support.masking.words import masked
from perfprobe.support.text import printable

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)


@frozen(kw_only=True)
class Variant:
    """What is run.

    Attributes:
        name: as the user knows it.
        words: the script and its arguments, or `-m MODULE` or `-c CODE` and its arguments.
        variables: of the environment, beside those of this process.
        folder: in which it runs, None for the current one.
        python: the interpreter.
        options: of `perfprobe run`, beside those of the experiment.
        commit: of a version of a git repository; "" for others, also for a working tree.
    """

    name: str
    words: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    python: str = sys.executable
    options: tuple[str, ...] = ()
    commit: str = ""

    @property
    def label(self) -> str:
        """Its name in a history, where HEAD means nothing."""
        return "" if self.name == "HEAD" and self.commit else self.name

    @property
    def shown(self) -> str:
        """Its command line without secrets."""
        return " ".join(map(printable, masked(self.words)))


def typed(name: str, words: Sequence[str]) -> Variant:
    """A program as it was typed, with variables of the environment before it: `OMP_NUM_THREADS=1 train.py`.

    Raises:
        UsageError: there is no program.
    """
    given = list(words)
    variables = {}
    while given and _VARIABLE.match(given[0]):
        variable, _, value = given.pop(0).partition("=")
        variables[variable] = value
    if not given:
        raise UsageError("there is no program to run", name, "write it after --: `-- train.py --epochs 1`")
    return Variant(name=name, words=tuple(given), variables=variables)
