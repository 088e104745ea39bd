"""What is read of an event of a trace: the same whatever version wrote it."""

from __future__ import annotations

from typing import Any

_LONGEST_US = 2.0**62 / 1000


def time_ns(value: Any) -> int | None:
    """Microseconds as nanoseconds; None for what is no time."""
    if type(value) is float or type(value) is int:
        return round(value * 1000) if -_LONGEST_US < value < _LONGEST_US else None
    if isinstance(value, str):  # some writers quote numbers
        try:
            value = float(value)
        except ValueError:
            return None
        return time_ns(value)
    return None


def span_ns(event: dict[str, Any]) -> tuple[int, int] | None:
    """When it began and ended; None where it does not say so, or ended before it began."""
    start_ns, length_ns = time_ns(event.get("ts")), time_ns(event.get("dur"))
    if start_ns is None or length_ns is None or length_ns < 0:
        return None
    return start_ns, start_ns + length_ns


def facts_of(event: dict[str, Any]) -> dict[str, Any]:
    """Its `args`."""
    facts = event.get("args")
    return facts if isinstance(facts, dict) else {}


def number(value: Any) -> int:
    """A number of the driver's, or a size; -1 for none. Some have all bits set where there is none."""
    if value is None:
        return -1
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < 1 << 62 else -1


def small(value: Any) -> int:
    """The same where a number has 32 bits."""
    found = number(value)
    return found if found < (1 << 31) - 1 else -1
