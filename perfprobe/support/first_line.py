"""The text after the name of a function of which not the line of the call is known, but another one."""

from __future__ import annotations

FIRST_LINE = " (its first line)"
AT_START = " (line at the start)"
_REMARKS = {
    FIRST_LINE: " (first line of its function)",
    AT_START: " (line of its function when recording began)",
}


def bare(function: str) -> str:
    """Returns the name of a function without that text."""
    return function.removesuffix(FIRST_LINE).removesuffix(AT_START)


def remark(function: str) -> str:
    """Returns what to say beside a line that is not that of the call; "" for the line of the call."""
    return next((text for end, text in _REMARKS.items() if function.endswith(end)), "")
