"""A machine's ceilings as text, and as a document for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from perfprobe.models.contention import is_contended, is_noisy
from perfprobe.report.section.block import Blank, Block, Column, Fact, Facts, Heading, Paragraph, Table
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.machine import Ceiling, Machine
from perfprobe.tables.measurements import Estimate

_ROOMY = 100
_FLOORS = {
    "dispatch": "the least a call of an operator takes",
    "launch": "the least a kernel takes to launch",
    "page fault": "one page of fresh memory, when it is touched first",
}


def document(machine: Machine) -> dict[str, Any]:
    """The ceilings for JSON: in FLOP/s, bytes/s, elements/s, or ns. "missing" has the others."""
    plain = asdict(machine)
    ceilings, levels, missing = (plain.pop(name) for name in ("ceilings", "levels", "missing"))
    for row in ceilings:
        row["rate_low"], row["rate_high"] = row["rate"]["low"], row["rate"]["high"]
        row["rate"] = row["rate"]["value"]
    return {
        "schema": 1,
        "meta": plain,
        "missing": [{"source": what, "reason": why, "count": 1, "remedy": ""} for what, why in missing],
        "tables": {
            "ceilings": ceilings,
            "levels": [{"level": name, "footprint_bytes": size} for name, size in levels],
        },
    }


def ceilings(machine: Machine, now: datetime | None = None) -> Iterator[Block]:
    """The machine's page. now: the time from which ages are counted, None for the current time."""
    facts = [
        Fact(printable(machine.name), "bold"),
        Fact(f"torch {printable(machine.torch)}"),
        Fact(_measured(machine, now or datetime.now(timezone.utc))),
        Fact(f"spread between processes {units.percent(machine.noise)}"),
        Fact(f"wall time {units.hundredths(machine.contention)} times CPU time"),
    ]
    yield Facts(facts)
    yield from _warning(machine)
    for section in (_compute, _bandwidth, _elements, _floors, _missing):
        yield from section(machine)


def _measured(machine: Machine, now: datetime) -> str:
    took = f"measured in {units.duration(machine.seconds * 1e9)}"
    try:
        when = datetime.fromisoformat(machine.measured)
        age_s = (now - when).total_seconds()
    except (ValueError, TypeError):
        return took
    age = f"{round(age_s / 86400)} days" if age_s >= 2 * 86400 else units.duration(round(age_s) * 1e9)
    ago = f", {age} ago" if age_s >= 60 else ""
    return f"{took} at {when:%Y-%m-%d %H:%M}{ago}"


def _warning(machine: Machine) -> Iterator[Block]:
    busy = is_contended(machine.contention)
    if not busy and not is_noisy(machine.noise):
        return
    why = "Other programs ran here while this was measured" if busy else "This machine was noisy"
    effect = (
        ": CPU times are right, but caches and memory were shared"
        if busy
        else ": the second digit is not sure"
    )
    yield Paragraph(f"{why}{effect}. End them and run `perfprobe machine --again`.", "yellow")


def _compute(machine: Machine) -> Iterator[Block]:
    products = {(one.threads, one.dtype): one for one in machine.ceilings if one.kind == "gemm"}
    peaks = {(one.threads, one.dtype): one for one in machine.ceilings if one.kind == "isa peak"}
    keys = sorted({*products, *peaks}, key=lambda key: (key[0], _size_of(key[1]), key[1]))
    if not keys:
        return
    more = "best matrix product through torch, beside the peak of the processor's own instructions"
    yield from _titled("Compute", more)
    pairs = [(products.get(key), peaks.get(key)) for key in keys]
    columns = [
        Column("threads", [str(threads) for threads, _ in keys], align="right"),
        Column("dtype", [printable(dtype) for _, dtype in keys]),
        Column("product", [_rate(one, "FLOP/s") for one, _ in pairs], align="right"),
        Column("low-high", [_range(one) for one, _ in pairs], 5, align="right"),
        Column("of peak", [_part(one, peak) for one, peak in pairs], align="right"),
        Column("peak", [_rate(peak, "FLOP/s") for _, peak in pairs], align="right"),
        Column("instruction", [_what(peak) for _, peak in pairs], 3),
        Column("product of", [_what(one) for one, _ in pairs], 6),
    ]
    yield Table(columns)


def _size_of(dtype: str) -> int:
    """A key that sorts wide formats first."""
    digits = "".join(letter for letter in dtype if letter.isdigit())
    return -int(digits or 0)


def _part(one: Ceiling | None, peak: Ceiling | None) -> str:
    return units.ABSENT if one is None or peak is None else units.percent(one.rate.value / peak.rate.value)


def _bandwidth(machine: Machine) -> Iterator[Block]:
    rows = [one for one in machine.ceilings if one.kind == "bandwidth"]
    ends = {size: name for name, size in machine.levels}
    for threads in sorted({one.threads for one in rows}):
        own = [one for one in rows if one.threads == threads]
        footprints = sorted({one.footprint_bytes for one in own})
        yield from _titled(f"Bandwidth{_on(own)}", "bytes read and written, by how many are touched")
        found = {(one.footprint_bytes, one.mix): one for one in own}
        columns = [
            Column("footprint", [units.size(size) for size in footprints], align="right"),
            *_mix_columns(found, footprints),
            Column("", [f"end of {ends[size]}" if size in ends else "" for size in footprints], style="dim"),
        ]
        yield Table(columns)


def _mix_columns(found: dict[tuple[int, str], Ceiling], footprints: Sequence[int]) -> Iterator[Column]:
    operators = {mix: one.what for (_, mix), one in found.items()}
    for mix, operator in operators.items():
        title = printable(f"{mix} ({operator})")
        cells = [_rate(found.get((size, mix)), "B/s") for size in footprints]
        yield Column(title, cells, align="right", brief_title=printable(mix), roomy=_ROOMY)


def _elements(machine: Machine) -> Iterator[Block]:
    rows = [one for one in machine.ceilings if one.kind == "element"]
    for threads in sorted({one.threads for one in rows}):
        own = [one for one in rows if one.threads == threads]
        found = {(one.what, one.dtype): one for one in own}
        kinds = list(dict.fromkeys(one.what for one in own))
        more = "elements a second of what arithmetic limits, not memory"
        yield from _titled(f"Elements{_on(own)}", more)
        columns = [Column("", list(map(printable, kinds)))]
        for dtype in dict.fromkeys(one.dtype for one in own):
            cells = [_rate(found.get((kind, dtype)), "/s") for kind in kinds]
            columns.append(Column(printable(dtype), cells, align="right"))
        yield Table(columns)


def _floors(machine: Machine) -> Iterator[Block]:
    rows = [one for one in machine.ceilings if one.kind in _FLOORS]
    if not rows:
        return
    yield from _titled("Floors", "")
    columns = [
        Column("", [one.kind for one in rows]),
        Column("time", [units.duration(one.rate.value) for one in rows], align="right"),
        Column("by", [_what(one) for one in rows], 3),
        Column("", [_FLOORS[one.kind] for one in rows], 2, style="dim"),
    ]
    yield Table(columns)


def _missing(machine: Machine) -> Iterator[Block]:
    if machine.missing:
        yield from _titled("Not measured", "")
    for what, why in machine.missing:
        yield Paragraph(f"{printable(what)}: {printable(why)}")


def _titled(title: str, more: str) -> Iterator[Block]:
    yield Blank()
    yield Heading(title, more)


def _on(rows: Iterable[Ceiling]) -> str:
    one = next(iter(rows))
    if one.device != "cpu":
        return f" of {printable(one.device)}"
    return f", {one.threads} thread{'' if one.threads == 1 else 's'}"


def _rate(one: Ceiling | None, unit: str) -> str:
    return units.ABSENT if one is None else _amount(one.rate.value, unit)


def _amount(value: float, unit: str) -> str:
    """`98.1 GFLOP/s`: the prefix belongs to the unit."""
    text = units.amount(float(value))
    return f"{text}{unit}" if text[-1].isalpha() else f"{text} {unit}"


def _range(one: Ceiling | None) -> str:
    return units.ABSENT if one is None else _interval(one.rate)


def _interval(rate: Estimate) -> str:
    return f"{units.amount(rate.low)} - {units.amount(rate.high)}"


def _what(one: Ceiling | None) -> str:
    return units.ABSENT if one is None else printable(one.what)


MEANINGS: dict[str, str] = {
    "threads": "Number of threads.",
    "dtype": "Type of the elements.",
    "product": "Rate of the best matrix product through torch.",
    "low-high": "Lowest and highest rate among the processes.",
    "of peak": "**product** divided by **peak**.",
    "peak": "Highest rate of the processor's arithmetic instructions, on registers.",
    "instruction": "Instruction set that reached the peak.",
    "product of": "Shape of the best matrix product.",
    "footprint": "Bytes that are touched repeatedly.",
    "time": "Time of one call, launch or page fault.",
    "by": "The operator or kernel that was timed.",
}
