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

    added_cpu: the same for the CPU time of the loop's thread. shown: of these two, the one that is printed;
    is_cpu: whether it is that of CPU time.
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
            shown=cpu if cpu is not None and is_cpu else wall,
            is_cpu=is_cpu,
        )
    ]


def added_text(row: BaselineRow) -> str:
    """Returns `+2.1 % (+1.2 to +3.0, measured)`; on a busy machine for CPU time."""
    shown, what = row.shown, " CPU" if row.is_cpu else ""
    between = ""
    if shown.low is not None and shown.high is not None:
        between = f"{units.change(shown.low)} to {units.change(shown.high)}, "
    return f"{units.change(shown.median)} %{what} ({between}measured)"


def untraced_text(row: BaselineRow) -> str:
    """Returns `untraced step 10.2 ms`."""
    return f"untraced step {units.duration(row.untraced_ns)}"
