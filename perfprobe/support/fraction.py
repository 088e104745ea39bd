"""A part of a whole, as it is typed."""

from __future__ import annotations

from perfprobe.support.errors import UsageError


def share(text: str) -> float:
    """The fraction that `5%` or `0.5 %` is; 0 for `off`. Raises UsageError if it is none."""
    number = text.removesuffix("%").strip()
    whole, _, part = number.partition(".")
    is_number = text.endswith("%") and (whole + part).isdecimal() and text.isascii()
    if text == "off":
        return 0
    if not is_number or not 0 < float(number) <= 100:
        raise UsageError("not a budget", text, "give a part of the CPU time, such as --budget 5%, or off")
    return float(number) / 100
