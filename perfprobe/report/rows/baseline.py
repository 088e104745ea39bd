"""The row that compares untraced steps with traced ones."""

from __future__ import annotations

from perfprobe.report.rows.row import unwritten
from perfprobe.support import units
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.live_steps import Added, Baseline


@frozen(kw_only=True)
class BaselineRow:
    """Medians over the pairs. added: by recording, divided by the untraced time, with its 95 % interval.

    added_cpu: the same for the CPU time of the loop's thread. detailed: the part of all steps that was
    recorded, if `--budget` chose them. shown: of the two, the one that is printed; is_cpu: whether it is that
    of CPU time.
    """

    steps: int
    pairs: int
    untraced_ns: int
    traced_ns: int
    added: float
    added_low: float | None
    added_high: float | None
    added_cpu: float | None
    added_cpu_low: float | None
    added_cpu_high: float | None
    detailed: float | None
    shown: Added = unwritten()
    is_cpu: bool = unwritten()


def baseline_rows(findings: Findings) -> list[BaselineRow]:
    """One row; none if no step was left untraced."""
    found = findings.get(Baseline)
    if found is None:
        return []
    cpu, wall = found.added_cpu, found.added
    is_cpu = cpu is not None and not wall.is_sure and cpu.is_sure
    return [
        BaselineRow(
            steps=found.steps,
            pairs=found.pairs,
            untraced_ns=found.untraced_ns,
            traced_ns=found.traced_ns,
            added=wall.median,
            added_low=wall.low,
            added_high=wall.high,
            added_cpu=None if cpu is None else cpu.median,
            added_cpu_low=None if cpu is None else cpu.low,
            added_cpu_high=None if cpu is None else cpu.high,
            detailed=found.detailed,
            shown=cpu if cpu is not None and is_cpu else wall,
            is_cpu=is_cpu,
        )
    ]


def added_text(row: BaselineRow) -> str:
    """Returns `+2.1 % (+1.2 to +3.0, measured)`; on a busy machine for CPU time."""
    return _measured(row, 1)


def mean_text(row: BaselineRow, detailed: float) -> str:
    """Returns `+4.8 % CPU (+4.1 to +5.6, measured): 1 step in 7 in detail`: what that adds to all steps."""
    return f"{_measured(row, detailed)}: {in_detail(detailed)}"


def _measured(row: BaselineRow, part: float) -> str:
    """The cost, if it was added to this part of the steps."""
    shown, what, between = row.shown, " CPU" if row.is_cpu else "", ""
    if shown.low is not None and shown.high is not None:
        between = f"{units.change(part * shown.low)} to {units.change(part * shown.high)}, "
    return f"{units.change(part * shown.median)} %{what} ({between}measured)"


def in_detail(part: float) -> str:
    """Returns `1 step in 7 in detail`."""
    every = round(1 / part) if part > 0 else 0
    if every > 1:
        return f"1 step in {every:,} in detail"
    return f"{units.whole_percent(part)} % of the steps in detail"


def untraced_text(row: BaselineRow) -> str:
    """Returns `untraced step 10.2 ms`."""
    return f"untraced step {units.duration(row.untraced_ns)}"
