"""The tables of Paddle's profiler: their columns and definitions, from a recording of a PyTorch program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.peers.paddle import (
    OverviewRow,
    PerfRow,
    device_rows,
    model_rows,
    operator_rows,
    overview_rows,
    perf_rows,
    userdefined_rows,
)
from perfprobe.report.section.block import Blank, Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.peers.summary import of_steps, summary_columns
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.peers import PeerTimes

TOP = 20
_PERF_NOTE = "Measured while perfprobe recorded. TRUST on the first screen says how much time that added."
_OVERVIEW_NOTE = (
    "Ratios do not sum to 100 %, because types contain each other. Simultaneous time on threads counts once."
)
_MODEL_NOTE = (
    "Dataloader: the loader's next. Forward: outermost modules, from first to last operator; a loss that is "
    "a function is in Others. Optimization: optimizer.step() alone. `--view phases` has the whole step."
)
_NO_STEPS_NOTE = (
    "Steps are found by optimizers, by DataLoaders and by calls of modules, or marked by perfprobe.step()."
)
_OPERATOR_NOTE = "Ratio: share of all operators' time; in the rows below an operator, share of its time."
_DEVICE_NOTE = (
    "CPU(Process): CPU time of this process, 100 % per core. CPU(System): CPU time of all processes on the "
    "processors that this one may use. GPU: share of the steps' time during which a kernel ran."
)


def perf_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_perf`."""
    return {"paddle_perf": perf_rows(findings)}


def perf(findings: Findings, _: Choice) -> Iterator[Block]:
    """The output of Paddle's benchmark mode: costs of a step and steps per second."""
    rows = perf_rows(findings)
    avg = {row.name: row.avg for row in rows}
    reader, batch = avg.get("reader_cost"), avg["batch_cost"]
    ratio = units.percent(reader / batch if reader is not None and batch else None)
    yield Heading("Perf Summary", f"Reader Ratio: {ratio}; {of_steps(findings)}")
    yield Table(
        [
            Column("", [row.name for row in rows], style="bold"),
            *(figures(each, [_perf_cell(row, each) for row in rows]) for each in ("avg", "max", "min")),
        ]
    )
    yield Paragraph(_PERF_NOTE, "dim")


def _perf_cell(row: PerfRow, which: str) -> str:
    value = getattr(row, which)
    if row.name != "ips":
        return units.duration(value)
    return f"{units.amount(value)} steps/s" if value is not None else units.ABSENT


def overview_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_overview`."""
    return {"paddle_overview": overview_rows(findings)}


def overview(findings: Findings, _: Choice) -> Iterator[Block]:
    """Types of events on the host, then those on GPUs."""
    rows = overview_rows(findings)
    yield Heading("Overview Summary", of_steps(findings))
    yield Table(_types([row for row in rows if not row.on_gpu], "CPU Time"))
    on_gpu = [row for row in rows if row.on_gpu]
    if on_gpu:
        yield Blank()
        yield Table(_types(on_gpu, "GPU Time"))
    yield Paragraph(_OVERVIEW_NOTE, "dim")


def _types(rows: Sequence[OverviewRow], time: str) -> list[Column]:
    return [
        Column("Event Type", [row.type for row in rows], style="bold"),
        figures("Calls", (units.count(row.calls) for row in rows)),
        figures(time, (units.duration(row.time_ns) for row in rows)),
        figures("Ratio", (units.percent(row.ratio) for row in rows)),
    ]


def model_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_model`."""
    return {"paddle_model": model_rows(findings)}


def model(findings: Findings, _: Choice) -> Iterator[Block]:
    """The phases of the steps."""
    yield Heading("Model Summary", of_steps(findings))
    yield Table(summary_columns(model_rows(findings)))
    yield Paragraph(_MODEL_NOTE if findings[PeerTimes].has_steps else _NO_STEPS_NOTE, "dim")


def operator_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_operator`."""
    return {"paddle_operator": operator_rows(findings, choice.top or 0, choice.peer_sort)}


def operators(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Operators, all threads together."""
    rows = operator_rows(findings, choice.most(TOP), choice.peer_sort)
    yield Heading("Operator Summary", f"all threads merged, {of_steps(findings)}")
    yield Table(summary_columns(rows))
    yield Paragraph(_OPERATOR_NOTE, "dim")


def userdefined_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_userdefined`."""
    return {"paddle_userdefined": userdefined_rows(findings, choice.top or 0, choice.peer_sort)}


def userdefined(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Ranges that the program set; nothing without any."""
    rows = userdefined_rows(findings, choice.most(TOP), choice.peer_sort)
    if rows:
        yield Heading("UserDefined Summary", f"all threads merged, {of_steps(findings)}")
        yield Table(summary_columns(rows))


def device_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_device`, if the use of any device is known."""
    rows = device_rows(findings)
    return {"paddle_device": rows} if rows else {}


def device(findings: Findings, _: Choice) -> Iterator[Block]:
    """Yields how busy processors and GPUs were; nothing if neither was recorded."""
    rows = device_rows(findings)
    if not rows:
        return
    yield Heading("Device Summary")
    yield Table(
        [
            Column("Device", [row.device for row in rows], style="bold"),
            figures("Utilization", (units.percent(row.utilization) for row in rows)),
        ]
    )
    yield Paragraph(_DEVICE_NOTE, "dim")
