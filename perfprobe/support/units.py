"""Formats numbers; nothing else does. None means not measured and becomes "-"."""

from __future__ import annotations

import math
from typing import TypeGuard

ABSENT = "-"

_DURATIONS = ((1, "ns"), (1_000, "us"), (1_000_000, "ms"), (1_000_000_000, "s"))
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")
_MINUTE_NS = 60_000_000_000
_LONGEST_SECONDS_NS = 10 * _MINUTE_NS  # above this, minutes are clearer than three digits of seconds


def duration(time_ns: float | None, least_ns: float = 0) -> str:
    """Formats nanoseconds with three significant digits and a suitable unit: "1.24 ms", "12 min 03 s".

    Less than `least_ns`, the shortest time that can be measured, becomes "<25 ns".
    """
    if not _is_number(time_ns):
        return ABSENT
    if 0 <= time_ns < least_ns:
        return f"<{duration(least_ns)}"
    if time_ns < 0:
        return "-" + duration(-time_ns)
    if time_ns >= _LONGEST_SECONDS_NS:
        return _long_duration(time_ns)
    for scale, unit in _DURATIONS[:-1]:
        if float(_three_digits(time_ns / scale)) < 1000:
            return f"{_three_digits(time_ns / scale) if scale > 1 else round(time_ns)} {unit}"
    return f"{_three_digits(time_ns / 1e9)} s"


def with_error(time_ns: int, error_ns: int) -> str:
    """Formats a duration with its error in the same unit and with as many decimals: "38.0 ms +- 2.1".

    An error that would be 0 there is left out: the digits that are shown have none.
    """
    text = duration(time_ns)
    number, _, unit = text.rpartition(" ")
    scale = next((scale for scale, name in _DURATIONS if name == unit), None)
    if scale is None or " " in number:  # minutes and hours
        return f"{text} +- {duration(error_ns)}"
    decimals = len(number.partition(".")[2])
    error = f"{error_ns / scale:.{decimals}f}"
    return f"{text} +- {error}" if float(error) else text


def percent(fraction: float | None) -> str:
    """Formats a fraction of one as a percentage with at most one decimal: "12.3 %", "<0.1 %", "100 %"."""
    if not _is_number(fraction):
        return ABSENT
    value = fraction * 100
    if 0 < value < 0.05:
        return "<0.1 %"
    return f"{value:.0f} %" if abs(value) >= 99.95 else f"{value:.1f} %"


def count(number: int | None) -> str:
    """Formats an integer with thousands separated: "1,234,567"."""
    return f"{number:,}" if _is_number(number) else ABSENT


def plain(number: float | None) -> str:
    """Formats a number with the digits that it has, at most six: "16", "2.5"."""
    return f"{number:g}" if _is_number(number) else ABSENT


def tenths(number: float | None) -> str:
    """Formats a number with one decimal: "3.5"."""
    return f"{number:.1f}" if _is_number(number) else ABSENT


def hundredths(number: float | None) -> str:
    """Formats a number with two decimals and thousands separated: "0.98"."""
    return f"{number:,.2f}" if _is_number(number) else ABSENT


def significant(number: float, digits: int) -> str:
    """Formats a number with so many significant digits, without zeros at the end: "0.83", "1.5"."""
    return f"{number:.{digits}g}"


def whole_percent(fraction: float) -> str:
    """Formats a fraction of one as a percentage without decimals and without the unit: "12"."""
    return f"{100 * fraction:.0f}"


def change(fraction: float) -> str:
    """Formats a fraction of one as a percentage with its sign, without the unit: "+1.2"."""
    return f"{100 * fraction:+.1f}"


def signed(fraction: float) -> str:
    """Formats a fraction as a percentage with its sign: "+93 %", below 10 % with a decimal: "-1.2 %"."""
    value = 100 * fraction
    return f"{value:+.0f} %" if abs(value) >= 9.95 else f"{value:+.1f} %"


def size(size_bytes: float | None) -> str:
    """Formats bytes with three significant digits in powers of 1024: "1.50 MiB"."""
    if not _is_number(size_bytes):
        return ABSENT
    value = float(size_bytes)
    for unit in _SIZES[:-1]:
        if abs(value) < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{_three_digits(value)} {unit}"
        value /= 1024
    return f"{_three_digits(value)} {_SIZES[-1]}"


def interval(low: str, high: str) -> str:
    """Joins two formatted numbers, with the unit once if it is the same: "1.20-1.31 ms", "980 us-1.02 ms"."""
    if ABSENT in (low, high):
        return ABSENT
    return f"{without_unit(low, high)}-{high}"


def without_unit(text: str, other: str) -> str:
    """The first of two formatted numbers without its unit, if the second has the same."""
    number, _, unit = text.rpartition(" ")
    return number if number and other.endswith(f" {unit}") else text


def clock(clock_mhz: int | None) -> str:
    """Formats a clock in MHz: "1,980 MHz"."""
    return f"{clock_mhz:,} MHz" if _is_number(clock_mhz) else ABSENT


def power(power_mw: float | None) -> str:
    """Formats milliwatts as whole watts: "698 W"."""
    return f"{power_mw / 1000:,.0f} W" if _is_number(power_mw) else ABSENT


def temperature(temperature_c: int | None) -> str:
    """Formats degrees Celsius: "81 C"."""
    return f"{temperature_c} C" if _is_number(temperature_c) else ABSENT


def amount(number: float | None) -> str:
    """Formats a number with three digits and a prefix of powers of 1000: "1.07 G"; integers as "7"."""
    if not _is_number(number):
        return ABSENT
    if isinstance(number, int) and abs(number) < 1000:
        return f"{number}"
    value = float(number)
    for prefix in ("", "k", "M", "G", "T", "P"):
        if float(_three_digits(value)) < 1000:
            return f"{_three_digits(value)} {prefix}".rstrip()
        value /= 1000
    return f"{_three_digits(value)} E"


def _is_number(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _three_digits(value: float) -> str:
    """Rounds the value to three significant digits, but keeps all digits before the decimal point."""
    for decimals, limit in ((2, 9.995), (1, 99.95)):
        if abs(value) < limit:
            return f"{value:.{decimals}f}"
    return f"{value:.0f}"


def _long_duration(time_ns: float) -> str:
    seconds = round(time_ns / 1e9)
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"
