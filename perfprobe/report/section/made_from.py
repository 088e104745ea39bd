"""What a kernel of torch.compile was made from, for the table and for JSON."""

from __future__ import annotations

from typing import Any

from perfprobe.support.text import printable
from perfprobe.tables.trace import Trace


def made_from(trace: Trace, name: int) -> str:
    """A second line for the operator's cell: `made from add, relu`; empty for what is no such kernel."""
    operators, _ = trace.made_from(name)
    return f"\nmade from {', '.join(map(printable, operators))}" if operators else ""


def made_from_fields(trace: Trace, name: int) -> dict[str, Any]:
    """The operators, and the lines of the compiled function that inductor noted; null where it did not."""
    operators, lines = trace.made_from(name)
    return {
        "made_from": operators or None,
        "made_from_lines": [line._asdict() for line in lines] or None,
    }
