"""The tables about GPUs and named ranges in the JSON document. Null is what was not measured or not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from perfprobe.report.gpu.copies import copies_in_focus, direction, rates
from perfprobe.report.gpu.devices import device_name
from perfprobe.report.gpu.kernels import kernels_in_focus
from perfprobe.report.gpu.waits import waits_in_focus
from perfprobe.report.named_ranges import named_in_focus
from perfprobe.tables.columns import Table
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import CopyKind, Launches, MemoryKind, WaitKind
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.ranges import RangeKind, RangeRows, RangeSource
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import GAP_TEXTS, Gap, Phase, Trace

Row = dict[str, Any]
SomeTable = TypeVar("SomeTable", bound=Table)

_LAUNCH = tuple(Launches.dtypes)


def gpu_tables(findings: Findings, gpu: GpuFindings, most: int) -> dict[str, list[Row]]:
    """`kernels`, `copies`, `gpu_waits`, `api_calls`, `devices`, `steps` and, in one row, `gpu`.

    most: rows of each but devices and steps, 0 for all.
    """
    trace = findings.trace
    kernels = gpu.kernels.take(kernels_in_focus(findings, gpu.kernels))
    copies = gpu.copies.take(copies_in_focus(findings, gpu.copies))
    waits = gpu.waits.take(waits_in_focus(findings, gpu.waits))
    rate = rates(_first(copies, most))
    return {
        "gpu": [{name: value for name, value in vars(gpu).items() if isinstance(value, int)}],
        "devices": [_device(trace.recording, row) for row in _rows(gpu.devices)],
        "kernels": [_kernel(trace, row) for row in _rows(_first(kernels, most))],
        "copies": [
            {**_copy(trace, row), "bytes_per_s": None if of_row is None else of_row * 1e9}
            for row, of_row in zip(_rows(_first(copies, most)), rate, strict=True)
        ],
        "gpu_waits": [_wait(trace, row) for row in _rows(_first(waits, most))],
        "api_calls": [_call(trace, row) for row in _rows(_first(gpu.calls, most))],
        "steps": list(_steps(gpu)),
    }


def range_table(findings: Findings, ranges: RangeRows, most: int) -> list[Row]:
    """`named_ranges`: those set through NVTX, ITT or perfprobe.range."""
    trace, found = findings.trace, ranges.take(named_in_focus(findings, ranges))
    return [
        {
            "name": _text(trace, row.pop("name")),
            "domain": _text(trace, row.pop("domain")),
            "source": _word(RangeSource, row.pop("source")),
            "kind": _word(RangeKind, row.pop("kind")),
            **_known(row),
        }
        for row in _rows(_first(found, most))
    ]


def _first(rows: SomeTable, most: int) -> SomeTable:
    return rows.take(slice(most or None))


def _device(recording: Recording, row: Row) -> Row:
    return {"name": device_name(recording, row["device"]) or None, **_known(row)}


def _kernel(trace: Trace, row: Row) -> Row:
    launches, launch = trace.recording[Launches], row.pop("launch")
    known = 0 <= launch < len(launches)
    return {
        "name": _text(trace, row.pop("name")),
        **_site(trace, row),
        "is_graph": row.pop("is_graph") == 1,
        **_known(row),
        **{name: int(getattr(launches, name)[launch]) if known else None for name in _LAUNCH},
    }


def _copy(trace: Trace, row: Row) -> Row:
    kind, is_async = row.pop("kind"), row.pop("is_async")
    return {
        "kind": _word(CopyKind, kind),
        "direction": direction(kind),
        "source": _word(MemoryKind, row.pop("source")),
        "destination": _word(MemoryKind, row.pop("destination")),
        "is_async": bool(is_async) if is_async >= 0 else None,
        **_site(trace, row),
        **_known(row),
    }


def _wait(trace: Trace, row: Row) -> Row:
    return {
        "kind": _word(WaitKind, row.pop("kind")),
        "call": _text(trace, row.pop("call")),
        **_site(trace, row),
        **_known(row),
    }


def _call(trace: Trace, row: Row) -> Row:
    return {"name": _text(trace, row.pop("name")), **_known(row)}


def _steps(gpu: GpuFindings) -> Iterator[Row]:
    """Each step, and in a row without times what was launched outside of all steps."""
    counted = {row.pop("step"): _known(row) for row in _rows(gpu.step_counts)}
    none = dict.fromkeys((name for name in gpu.step_counts.dtypes if name != "step"), 0)
    for at, row in enumerate(_rows(gpu.steps)):
        yield {"step": at, **row, **counted.get(at, none)}
    if -1 in counted:
        yield {"step": None, "start_ns": None, "end_ns": None, **counted[-1]}


def _site(trace: Trace, row: Row) -> Row:
    """What launched it; takes these columns out of the row."""
    phase, gap, linked = row.pop("phase"), row.pop("gap"), row.pop("linked")
    found = {"operator": _text(trace, row.pop("operator"))}
    if "overload" in row:
        found |= {
            "overload": _text(trace, row.pop("overload")),
            "signature": trace.signature(row.pop("signature")),
            "module": trace.module(row.pop("module")),
        }
    return {
        **found,
        **_place(trace, "", row.pop("frame")),
        **_place(trace, "forward_", row.pop("forward_frame")),
        "phase": Phase(phase).name.lower(),
        "reason": GAP_TEXTS[Gap(gap)] or None,
        "linked": linked == 1,
    }


def _place(trace: Trace, prefix: str, frame: int) -> Row:
    line = trace.line(frame)
    return {
        f"{prefix}file": line.file if line else None,
        f"{prefix}line": line.line if line else None,
        f"{prefix}function": line.function if line else None,
    }


def _text(trace: Trace, at: int) -> str | None:
    return trace.recording[Strings][at] or None if at >= 0 else None


def _word(kinds: Callable[[int], Any], value: int) -> str | None:
    try:
        return str(kinds(value).name.lower())
    except ValueError:
        return None


def _known(row: Mapping[str, int]) -> Row:
    return {name: value if value >= 0 else None for name, value in row.items()}


def _rows(table: Table) -> Iterator[Row]:
    columns = {name: column.tolist() for name, column in table.columns().items()}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))
