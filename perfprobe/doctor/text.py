"""Writes the parts as text: a line for each, then why and the remedy. Does not need rich."""

from __future__ import annotations

import textwrap

from perfprobe.doctor.examine import works
from perfprobe.doctor.part import LACK, NOTE, OK, Part
from perfprobe.support.text import printable

_COLORS = {OK: "32", LACK: "1;31", NOTE: "33"}
_WORDS = {LACK: "fail"}  # the printed names of states; JSON has the states
_MARK = 6  # cells
_NARROWEST = 40


def render(parts: list[Part], *, width: int, color: bool) -> str:
    """Returns the text with a final newline. Remedies are not wrapped, so that they can be copied."""
    indent = _MARK + 2 + max(len(part.part) for part in parts)
    lines = []
    for part in parts:
        mark = f"{_WORDS.get(part.state, part.state):{_MARK}}"
        mark = f"\x1b[{_COLORS[part.state]}m{mark}\x1b[0m" if color else mark
        found = _wrapped(part.found, width, indent) or [""]
        lines.append(f"{mark}{part.part:{indent - _MARK}}{found[0]}")
        rest = [*found[1:], *(_wrapped(part.why, width, indent) if part.why else [])]
        lines += [" " * indent + line for line in rest]
        lines += [" " * indent + printable(part.remedy)] if part.remedy else []
    return "\n".join([*lines, "", *textwrap.wrap(_summary(parts), max(width, _NARROWEST))]) + "\n"


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(
        printable(text), max(width - indent, _NARROWEST), break_long_words=False, break_on_hyphens=False
    )


def _summary(parts: list[Part]) -> str:
    failing = [part.part for part in parts[:-1] if part.state == LACK]
    if works(parts):
        return "Operators can be recorded here." + (
            f" Does not work: {', '.join(failing)}." if failing else ""
        )
    first = f"; start with {failing[0]}" if failing else ""
    return f"Operators cannot be recorded here{first}."
