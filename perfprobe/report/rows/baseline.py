"""The row that compares untraced steps with traced ones."""

from __future__ import annotations

from perfprobe.report.rows.row import unwritten
from perfprobe.support import units
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.live_steps import Added, Baseline


@frozen(kw_only=True)
class BaselineRow:
    """Medians over the pairs. added: by recording, as a part of the untraced time, with its 95 % interval.

    added_cpu: the same of the CPU time of the loop's thread. told: the one of both that is more certain.
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
    told: Added = unwritten()
    tells_cpu: bool = unwritten()


def baseline_rows(findings: Findings) -> list[BaselineRow]:
    """One row, or none where no step was left untraced."""
    found = findings.get(Baseline)
    if found is None:
        return []
    cpu, wall = found.added_cpu, found.added
    tells_cpu = cpu is not None and not wall.is_sure and cpu.is_sure
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
            told=cpu if cpu is not None and tells_cpu else wall,
            tells_cpu=tells_cpu,
        )
    ]


def added_text(row: BaselineRow) -> str:
    """`+2.1 % (+1.2 to +3.0, measured)`; on a busy machine of CPU time."""
    told, what = row.told, " CPU" if row.tells_cpu else ""
    between = ""
    if told.low is not None and told.high is not None:
        between = f"{100 * told.low:+.1f} to {100 * told.high:+.1f}, "
    return f"{100 * told.median:+.1f} %{what} ({between}measured)"


def untraced_text(row: BaselineRow) -> str:
    """`untraced step 10.2 ms`."""
    return f"untraced step {units.duration(row.untraced_ns)}"
