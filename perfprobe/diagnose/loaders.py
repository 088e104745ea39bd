"""Rule: what helps a program that waits for DataLoader's workers."""

from __future__ import annotations

from typing import Any

from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import LoaderRemedy, LoaderVerdict, LoaderVerdicts
from perfprobe.tables.workers import WorkerFindings

_LITTLE = 0.02  # waiting for less than this share of the workers' lifetime needs no change
_IDLE = 0.8  # workers that wait for so much of their time need not be more
_READY_PPM = 1_000_000  # nor where a finished batch is in the queue on average
_IN_USE = 0.9  # if this share of the processors is used, none is left for one more worker
_COLUMNS = (
    *("workers", "processes", "busy_ns", "waiting_ns", "waited_ns", "start_wait_ns"),
    *("span_ns", "most_gain_ns", "queued_ppm"),
)


def loader_verdicts(findings: Findings) -> LoaderVerdicts | None:
    """The verdict on each DataLoader."""
    found = findings.get(WorkerFindings)
    if found is None:
        return None
    columns = [getattr(found.loaders, name).tolist() for name in _COLUMNS]
    rows = (dict(zip(_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True))
    return LoaderVerdicts(tuple(_verdict(found, row) for row in rows))


def _verdict(found: WorkerFindings, row: dict[str, Any]) -> LoaderVerdict:
    mostly_starts = _mostly_starts(row)
    return LoaderVerdict(mostly_starts, _remedy(found, row, mostly_starts))


def _mostly_starts(row: dict[str, Any]) -> bool:
    """It then waits for the start, or workers have nothing to do for most of the time."""
    of_start = row["workers"] if row["workers"] > 0 else row["processes"]
    is_idle = row["waiting_ns"] > row["busy_ns"]
    waits = 2 * max(row["start_wait_ns"], 0) > max(row["waited_ns"], 0)
    return bool(row["processes"] // max(of_start, 1) > 1 and (is_idle or waits))


def _remedy(found: WorkerFindings, row: dict[str, Any], mostly_starts: bool) -> LoaderRemedy:
    if row["waited_ns"] < 0 or row["span_ns"] <= 0:
        return LoaderRemedy.UNKNOWN
    if row["waited_ns"] < _LITTLE * row["span_ns"]:
        return LoaderRemedy.NOTHING
    if row["most_gain_ns"] < 0:
        return LoaderRemedy.UNKNOWN
    if mostly_starts:
        return LoaderRemedy.PERSISTENT
    return LoaderRemedy.RECEIVING if _are_ready(row) else _with_more(found)


def _are_ready(row: dict[str, Any]) -> bool:
    """Whether workers wait while finished batches are in the queue."""
    lived_ns = row["waiting_ns"] + row["busy_ns"]
    return bool(row["queued_ppm"] >= _READY_PPM and row["waiting_ns"] >= _IDLE * lived_ns)


def _with_more(found: WorkerFindings) -> LoaderRemedy:
    used, cores = found.cores_used, found.cores
    if used is not None and cores and used >= _IN_USE * cores:
        return LoaderRemedy.NO_PROCESSOR
    return LoaderRemedy.WORKER
