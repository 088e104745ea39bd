"""Measured operators as points of a roofline."""

from __future__ import annotations

from collections import Counter

from perfprobe.models import signature
from perfprobe.report.shorten import cut
from perfprobe.support.frozen import frozen
from perfprobe.support.text import printable
from perfprobe.tables.measurements import Measurement, Measurements

_LONGEST = 28  # characters of a label


@frozen
class Point:
    """A measured operator.

    label: short, different for each row. intensity: FLOPs divided by compulsory bytes. flop_rate: FLOP/s,
    None if the operator has no relevant FLOPs. byte_rate: bytes/s. share: of the time.
    """

    label: str
    kind: str
    share: float
    dtype: str
    device: str
    threads: int
    moved_bytes: int
    byte_rate: float
    intensity: float | None = None
    flop_rate: float | None = None


def points(measurements: Measurements) -> tuple[Point, ...]:
    """Points for all rows with a time and a work model, the largest share of time first.

    Without a recording there are no shares; the points are then of one size.
    """
    rows = [row for row in measurements.rows if row.rotating is not None and row.rotating.value > 0]
    names = Counter(_name(row) for row in rows)
    made = [point for row in rows if (point := _point(row, names)) is not None]
    return tuple(sorted(made, key=lambda point: -point.share))


def _point(row: Measurement, names: Counter[str]) -> Point | None:
    if row.rotating is None or row.read_bytes is None or row.write_bytes is None:
        return None
    moved = row.read_bytes + row.write_bytes
    if moved <= 0:
        return None
    calculates = bool(row.flops) and not _only_makes(row)
    seconds = row.rotating.value / 1e9
    return Point(
        label=_label(row, names),
        kind="unjudged" if row.verdict is None else printable(row.verdict.kind),
        share=0.0 if row.seen is None else max(row.seen.share, 0.0),
        dtype=_tensor(row)[0],
        device=row.device,
        threads=row.wanted.threads,
        moved_bytes=moved,
        byte_rate=moved / seconds,
        intensity=(row.flops or 0) / moved if calculates else None,
        flop_rate=(row.flops or 0) / seconds if calculates else None,
    )


def _only_makes(row: Measurement) -> bool:
    """Whether it is limited by the rate of elements, not of FLOPs: random numbers, sorting."""
    return not row.flops or any(bound.kind == "element" for bound in row.bounds)


def _label(row: Measurement, names: Counter[str]) -> str:
    name = _name(row)
    if names[name] == 1:
        return cut(name, _LONGEST)
    return cut(f"{name} {_tensor(row)[1]}", _LONGEST)


def _name(row: Measurement) -> str:
    return printable(row.wanted.operator.removeprefix("aten::").split(".")[0])


def _tensor(row: Measurement) -> tuple[str, str]:
    """Dtype and sizes of the first tensor: ("f32", "64x128")."""
    for item in signature.parse(row.wanted.signature) or ():
        if isinstance(item, signature.Tensor):
            return item.dtype, "x".join(map(str, item.sizes or ()))
    return "f32", ""
