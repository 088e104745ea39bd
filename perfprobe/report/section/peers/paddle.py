"""The tables of Paddle's profiler: their columns and definitions, from a recording of a PyTorch program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.peers.paddle import (
    DeviceRow,
    OverviewRow,
    PerfRow,
    device_rows,
    model_rows,
    operator_rows,
    overview_rows,
    perf_rows,
    userdefined_rows,
)
from perfprobe.report.section.block import Blank, Block, Column, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.report.section.peers.summary import SUMMARY, SUMMARY_TIMES, of_steps, summary_name_head
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.peers import PeerTimes
from perfprobe.tables.processors import Processors

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
    yield Table([Column("", [row.name for row in rows], style="bold"), *columns(_PERF, rows)])
    yield Paragraph(_PERF_NOTE, "dim")


def _perf_cell(row: PerfRow, value: float | None) -> str:
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
    yield Table(columns((*_TYPE, _CPU_TIME, _RATIO), [row for row in rows if not row.on_gpu]))
    on_gpu = [row for row in rows if row.on_gpu]
    if on_gpu:
        yield Blank()
        yield Table(columns((*_TYPE, _GPU_TIME, _RATIO), on_gpu))
    yield Paragraph(_OVERVIEW_NOTE, "dim")


def model_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_model`."""
    return {"paddle_model": model_rows(findings)}


def model(findings: Findings, _: Choice) -> Iterator[Block]:
    """The phases of the steps."""
    yield Heading("Model Summary", of_steps(findings))
    yield Table(columns(_MODEL, model_rows(findings)))
    yield Paragraph(_MODEL_NOTE if findings[PeerTimes].has_steps else _NO_STEPS_NOTE, "dim")


def operator_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_operator`."""
    return {"paddle_operator": operator_rows(findings, choice.top or 0, choice.peer_sort)}


def operators(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Operators, all threads together."""
    rows = operator_rows(findings, choice.most(TOP), choice.peer_sort)
    yield Heading("Operator Summary", f"all threads merged, {of_steps(findings)}")
    yield Table(columns(SUMMARY, rows))
    yield Paragraph(_OPERATOR_NOTE, "dim")


def userdefined_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_userdefined`."""
    return {"paddle_userdefined": userdefined_rows(findings, choice.top or 0, choice.peer_sort)}


def userdefined(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Ranges that the program set; nothing without any."""
    rows = userdefined_rows(findings, choice.most(TOP), choice.peer_sort)
    if rows:
        yield Heading("UserDefined Summary", f"all threads merged, {of_steps(findings)}")
        yield Table(columns(SUMMARY, rows))


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
    yield Table(columns(_DEVICE, rows))
    yield Paragraph(_DEVICE_NOTE, "dim")


_PERF: tuple[Head[Sequence[PerfRow]], ...] = (
    figure("avg", "Mean over the steps.", lambda row: _perf_cell(row, row.avg)),
    figure("max", "Largest value of a step.", lambda row: _perf_cell(row, row.max)),
    figure("min", "Smallest value of a step.", lambda row: _perf_cell(row, row.min)),
)
_TYPE: tuple[Head[Sequence[OverviewRow]], ...] = (
    text(
        "Event Type",
        "**ProfileStep**: a whole step. **Dataloader**: the loader's `next`. **Forward**: calls of outermost "
        "modules. **Backward**: from the first to the last operator of a call of backward. "
        "**Optimization**: `optimizer.step()`. **Operator**: not within another operator. "
        "**OperatorInner**: within another operator. **UserDefined**: the program's own ranges. "
        "**CudaRuntime**: calls of CUDA's API. **Kernel**: kernels on GPUs. **Memcpy**: copies on GPUs. "
        "**Memset**: fills on GPUs. **Communication**: kernels that communicate.",
        lambda row: row.type,
        style="bold",
    ),
    figure("Calls", "Number of events.", lambda row: units.count(row.calls)),
)
_CPU_TIME: Head[Sequence[OverviewRow]] = figure(
    "CPU Time",
    "Time during which at least one was open, on any thread.",
    lambda row: units.duration(row.time_ns),
)
_GPU_TIME: Head[Sequence[OverviewRow]] = figure(
    "GPU Time",
    "Time during which at least one ran on a GPU.",
    lambda row: units.duration(row.time_ns),
)
_RATIO: Head[Sequence[OverviewRow]] = figure(
    "Ratio", "Share of the steps' time.", lambda row: units.percent(row.ratio)
)
_MODEL = (
    summary_name_head(
        "**ProfileStep**: a whole step. **Dataloader**: the loader's `next`. **Forward**: calls of outermost "
        "modules; a loss that is a function is in Others. **Backward**: from the first to the last operator "
        "of a call of backward. **Optimization**: `optimizer.step()`. **Others**: the rest of the step."
    ),
    *SUMMARY_TIMES,
)
_DEVICE: tuple[Head[Sequence[DeviceRow]], ...] = (
    text(
        "Device",
        "**CPU(Process)**: CPU time of this process, 100 % per core. **CPU(System)**: CPU time of all "
        "processes on the processors that this process may use.",
        lambda row: row.device,
        style="bold",
    ),
    figure(
        "Utilization",
        "CPU time divided by wall time; for a GPU: share of the steps' time in which a kernel ran.",
        lambda row: units.percent(row.utilization),
    ),
)

PADDLE_PERF = Section(
    "paddle.perf",
    (PeerTimes,),
    perf,
    perf_tables,
    titles=("Perf Summary",),
    guide="peers",
    means="The table of Paddle's benchmark mode: step time, time in the loader, steps per second.",
    heads=_PERF,
    json={"paddle_perf": "The view *paddle.perf*."},
)
PADDLE_OVERVIEW = Section(
    "paddle.overview",
    (PeerTimes,),
    overview,
    overview_tables,
    titles=("Overview Summary",),
    guide="peers",
    means="Paddle's types of events, on the host and on GPUs. Types contain each other, so ratios do not sum "
    "to 100 %.",
    heads=(*_TYPE, _CPU_TIME, _GPU_TIME, _RATIO),
    json={"paddle_overview": "The view *paddle.overview*."},
)
PADDLE_MODEL = Section(
    "paddle.model",
    (PeerTimes,),
    model,
    model_tables,
    titles=("Model Summary",),
    guide="peers",
    means="The parts of a step by Paddle's definitions: loader, forward, backward, optimization, others.",
    heads=_MODEL,
    json={"paddle_model": "The view *paddle.model*."},
)
PADDLE_OPERATOR = Section(
    "paddle.operator",
    (PeerTimes,),
    operators,
    operator_tables,
    titles=("Operator Summary",),
    guide="peers",
    means="Outermost operators, each with the operators that it called directly.",
    heads=SUMMARY,
    json={"paddle_operator": "The view *paddle.operator*."},
)
PADDLE_USERDEFINED = Section(
    "paddle.userdefined",
    (PeerTimes,),
    userdefined,
    userdefined_tables,
    titles=("UserDefined Summary",),
    guide="peers",
    means="The program's own ranges.",
    heads=SUMMARY,
    json={"paddle_userdefined": "The view *paddle.userdefined*."},
)
PADDLE_DEVICE = Section(
    "paddle.device",
    (),
    device,
    device_tables,
    shows=(Processors, PeerTimes),
    titles=("Device Summary",),
    guide="peers",
    means="Utilization of processors and GPUs.",
    heads=_DEVICE,
    json={"paddle_device": "The view *paddle.device*."},
)
