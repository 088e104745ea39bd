"""The errors that users see: one line each (what, where, what to do) and an exit code."""

from __future__ import annotations

from perfprobe.support.text import printable


class PerfprobeError(Exception):
    """Something that perfprobe cannot do: what went wrong, where, and what fixes it.

    Args:
        what: the fault, in a few words.
        where: the file, option or place; "" if there is none.
        remedy: what the user can do; "" if nothing helps.
    """

    exit_code = 1

    def __init__(self, what: str, where: str = "", remedy: str = "") -> None:
        super().__init__(what, where, remedy)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.what}: {self.where}" if self.where else self.what
        return printable(f"{text}; {self.remedy}" if self.remedy else text)


class UsageError(PerfprobeError):
    """The command was called in a way it does not allow."""

    exit_code = 2


class InputError(PerfprobeError):
    """A file or other input cannot be used."""

    exit_code = 3


class EnvironmentLack(PerfprobeError):
    """Something is missing on this machine or in this installation."""

    exit_code = 4
