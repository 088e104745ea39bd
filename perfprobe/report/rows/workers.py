"""Rows of child processes, and of DataLoader's workers together."""

from __future__ import annotations

from typing import Any

from perfprobe.report.rows.row import measured, place, unwritten, values, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import LoaderVerdict, LoaderVerdicts
from perfprobe.tables.trace import Line
from perfprobe.tables.workers import ChildKind, StartMethod, WorkerFindings

_FIGURES = ("collate_ns", "put_ns", "send_ns", "private_first_bytes", "private_bytes")


@frozen(kw_only=True)
class WorkerRow:
    """A child process, or all those without a row of their own; figures as in `tables.workers.Workers`.

    is_whole: whether it ran to its end. start_up_ns: the time until it ran the program's code; for a
    DataLoader's worker, until it first asked what to load. lived_ns: from its start to its last event.
    """

    kind: str | None
    name: str
    method: str | None
    processes: int
    process: int | None
    parent: int | None
    worker: int | None
    workers: int | None
    is_whole: bool
    is_detailed: bool
    start_up_ns: int | None
    lived_ns: int | None
    cpu_ns: int | None
    batches: int | None
    waiting_ns: int | None
    dataset_ns: int | None
    collate_ns: int | None
    put_ns: int | None
    send_ns: int | None
    private_first_bytes: int | None
    private_bytes: int | None


@frozen(kw_only=True)
class LoaderRow:
    """The workers of one DataLoader; figures as in `tables.workers.Loaders`. queued: batches, mean and most.

    line: the user line with most of the dataset's time. line_ns: the time of that line.
    """

    name: str
    method: str | None
    workers: int | None
    processes: int
    incomplete: int
    detailed: int
    start_up_ns: int | None
    lived_ns: int
    span_ns: int
    busy_ns: int
    batches: int
    reading_ns: int | None
    transform_ns: int | None
    dataset_ns: int
    line: Line | None = place()
    line_ns: int | None
    collate_ns: int
    put_ns: int
    send_ns: int
    waiting_ns: int
    cpu_ns: int
    queued: float | None
    queued_most: int | None
    waited_ns: int | None
    shares_waits: bool
    start_wait_ns: int | None
    pinning_ns: int | None
    most_gain_ns: int | None
    grown_bytes: int | None
    verdict: LoaderVerdict = unwritten()

    @property
    def starts(self) -> int:
        """How often the workers were started: in each epoch, unless they are persistent."""
        return self.processes // max(self.workers or self.processes, 1)


def worker_rows(findings: Findings) -> list[WorkerRow]:
    """A row for each child process, in the order in which they were started."""
    found = findings.get(WorkerFindings)
    return [] if found is None else [_worker(value) for value in values(found.workers)]


def _worker(value: dict[str, Any]) -> WorkerRow:
    begun_ns, up_ns = value["forked_ns"], value["ready_ns"] if value["ready_ns"] > 0 else value["started_ns"]
    known = ("process", "parent", "worker", "workers", "cpu_ns", "batches", "waiting_ns", "dataset_ns")
    return WorkerRow(
        kind=word(ChildKind, value["kind"]),
        name=str(value["name"]),
        method=word(StartMethod, value["method"]),
        processes=value["processes"],
        is_whole=value["ended"] >= value["processes"],
        is_detailed=value["detail"] > 0,
        start_up_ns=up_ns - begun_ns if up_ns >= begun_ns > 0 else None,
        lived_ns=value["last_ns"] - begun_ns if value["last_ns"] >= begun_ns > 0 else None,
        **{name: measured(value[name]) for name in (*known, *_FIGURES)},
    )


def loader_rows(findings: Findings) -> list[LoaderRow]:
    """A row for each DataLoader, most time of its workers first."""
    found = findings.get(WorkerFindings)
    if found is None:
        return []
    verdicts = findings[LoaderVerdicts].found
    return [_loader(*each) for each in zip(values(found.loaders), verdicts, strict=True)]


def _loader(value: dict[str, Any], verdict: LoaderVerdict) -> LoaderRow:
    unknown = ("workers", "start_up_ns", "transform_ns", "queued_most", "waited_ns", "start_wait_ns")
    optional = (*unknown, "pinning_ns", "most_gain_ns", "grown_bytes", "line_ns")
    apart = (*optional, "name", "method", "queued_ppm", "shares_waits", *Line._fields)
    line = Line(str(value["file"]), value["line"], str(value["function"]))
    others: dict[str, Any] = {key: figure for key, figure in value.items() if key not in apart}
    found: dict[str, Any] = {key: measured(value[key]) for key in optional}
    transform_ns = found["transform_ns"]
    return LoaderRow(
        name=str(value["name"]),
        method=word(StartMethod, value["method"]),
        reading_ns=None if transform_ns is None else value["dataset_ns"] - transform_ns,
        line=line if line.line >= 0 else None,
        shares_waits=value["shares_waits"] > 0,
        queued=None if value["queued_ppm"] < 0 else value["queued_ppm"] / 1e6,
        verdict=verdict,
        **found,
        **others,
    )
