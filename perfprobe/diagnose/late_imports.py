"""Rule: the import of a library before the first step is a noteworthy part of the run.

The import of torch itself is left out, because it cannot be avoided. What torch imports later, as `AdamW()`
does, counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.models.imports import imports_before
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.imports import Import
from perfprobe.tables.steps import StepTimes

_NOTEWORTHY = 0.1  # of the wall time
_TORCH = "torch"


def late_imports(findings: Findings, times: StepTimes) -> Iterator[Diagnosis]:
    """The longest import."""
    wall_ns, rows = findings.wall_ns, imports_before(findings.trace, times.start_up)
    found = next((row for row in rows if row.by is not None or not _is_torchs(row)), None)
    if found is not None and wall_ns and found.time_ns >= _NOTEWORTHY * wall_ns:
        yield Diagnosis(
            cause=Cause.IMPORTS,
            base=Base.RUN,
            time_ns=found.time_ns,
            share=found.time_ns / wall_ns,
            phases={},
            imported=found,
        )


def _is_torchs(row: Import) -> bool:
    return (row.module or "").partition(".")[0] == _TORCH
