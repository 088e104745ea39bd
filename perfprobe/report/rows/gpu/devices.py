"""Rows of GPUs, of training steps, and one row of counts of all GPU records."""

from __future__ import annotations

from perfprobe.report.rows.row import Values, figures_of, measured, named, values
from perfprobe.report.shorten import cut
from perfprobe.support.frozen import frozen
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings, StepCounts
from perfprobe.tables.recording import Recording

_LONGEST_NAME = 40


@frozen(kw_only=True)
class DeviceRow:
    """What a GPU did; figures as in `DeviceRows`. name: the driver's."""

    name: str | None
    device: int | None
    kernels: int | None
    kernel_ns: int | None
    copies: int | None
    copy_ns: int | None
    copied_bytes: int | None
    streams: int | None
    busy_ns: int | None
    first_ns: int | None
    last_ns: int | None
    computing_ns: int | None
    communication_ns: int | None
    copying_ns: int | None

    @property
    def span_ns(self) -> int | None:
        """From the start of its first work to the end of its last."""
        return None if self.first_ns is None or self.last_ns is None else self.last_ns - self.first_ns


@frozen(kw_only=True)
class StepRow:
    """What was launched in a training step; figures as in `StepCounts`.

    step: None, without times, for work launched outside of all steps.
    """

    step: int | None
    start_ns: int | None
    end_ns: int | None
    kernels: int | None
    kernel_ns: int | None
    copies: int | None
    copy_ns: int | None
    copied_bytes: int | None
    waits: int | None
    wait_ns: int | None

    @property
    def duration_ns(self) -> int | None:
        """The duration of the step; None if its times are damaged, or for work outside of steps."""
        if self.start_ns is None or self.end_ns is None:
            return None
        return measured(self.end_ns - self.start_ns)


_STEP_FIGURES = [name for name in StepCounts.dtypes if name != "step"]


def gpu_row(gpu: GpuFindings) -> Values:
    """The counts of all tables, as in `GpuFindings`."""
    return Values({name: value for name, value in vars(gpu).items() if isinstance(value, int)})


def device_rows(findings: Findings) -> list[DeviceRow]:
    """All GPUs, the busiest first."""
    recording = findings.trace.recording
    return [
        DeviceRow(name=device_name(recording, value["device"]), **figures_of(value))
        for value in values(findings[GpuFindings].devices)
    ]


def step_rows(gpu: GpuFindings) -> list[StepRow]:
    """Returns a row for each step, and one for work launched outside of steps, if there is any."""
    counted = {value.pop("step"): figures_of(value) for value in values(gpu.step_counts)}
    none = dict.fromkeys(_STEP_FIGURES, 0)
    rows = [
        StepRow(step=at, start_ns=value["start_ns"], end_ns=value["end_ns"], **counted.get(at, none))
        for at, value in enumerate(values(gpu.steps))
    ]
    if -1 in counted:
        rows.append(StepRow(step=None, start_ns=None, end_ns=None, **counted[-1]))
    return rows


def device_name(recording: Recording, device: int) -> str | None:
    """The driver's name of a GPU, shortened; None if it is not known."""
    known = recording.fact("gpu", "devices")
    entry = known[device] if isinstance(known, list) and 0 <= device < len(known) else None
    name = entry.get("name") if isinstance(entry, dict) else entry
    return named(cut(printable(name), _LONGEST_NAME)) if isinstance(name, str) else None
