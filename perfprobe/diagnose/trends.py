"""Rule: steps get slower, or memory grows, from step to step."""

from __future__ import annotations

from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Rising
from perfprobe.tables.trends import Trend, Trends

_SLOWER = 1.3  # the last steps, beside the first
_LEAST_BYTES = 8 << 20  # in all steps together
_LEAST_GROWTH = 0.02  # likewise, of the memory before
_GOES_ON = 0.5  # of the slope: a pool or a cache that fills grows less in the second half
_SAME_LINE = 0.5  # of the rise


def rising(findings: Findings) -> Rising | None:
    """What rises enough to be said."""
    found = findings.get(Trends)
    if found is None:
        return None
    slower = found.duration is not None and found.duration.last >= _SLOWER * found.duration.first
    memory = found.memory is not None and _grows(found.memory)
    return Rising(slower, found.frame if slower and found.part >= _SAME_LINE else -1, memory)


def _grows(memory: Trend) -> bool:
    grown_bytes = memory.low * memory.steps
    return grown_bytes >= max(_LEAST_BYTES, _LEAST_GROWTH * memory.first) and (
        memory.late >= _GOES_ON * memory.a_step
    )
