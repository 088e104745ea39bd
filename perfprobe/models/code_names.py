"""What functions are called in patterns."""

from __future__ import annotations

from perfprobe.support.text import printable
from perfprobe.tables.python import Code
from perfprobe.tables.strings import Strings


def searched(strings: Strings, code: Code, row: int) -> str:
    """The text that patterns match: `/path/file.py:12 function`; of a C function its name."""
    function = printable(strings[code.function[row]])
    if code.file[row] < 0:
        return function
    return f"{printable(strings[code.file[row]])}:{code.first_line[row]} {function}"
