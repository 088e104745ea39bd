"""Rule: the own memory of DataLoader's workers grows. They copy what they share with the main process."""

from __future__ import annotations

from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import GrowingWorkers
from perfprobe.tables.workers import WorkerFindings

_EACH_BYTES = 128 << 20  # a worker's caches, and what recording it takes, grow by less


def growing_workers(findings: Findings) -> GrowingWorkers | None:
    """The DataLoader whose workers grew most, if that is much."""
    found = findings.get(WorkerFindings)
    if found is None or len(found.loaders) == 0:
        return None
    grown = found.loaders.grown_bytes
    most = int(grown.argmax())
    return GrowingWorkers(most, int(grown[most])) if grown[most] >= _EACH_BYTES else None
