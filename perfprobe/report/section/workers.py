"""DataLoader's workers: the parts of their time, and how long the main process waited for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.models.rules import RULES
from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.workers import LoaderRow, WorkerRow, loader_rows, worker_rows
from perfprobe.report.section.block import Block, Column, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import LoaderRemedy
from perfprobe.tables.teams import WorkerTeams
from perfprobe.tables.workers import WorkerFindings

_HELPS = {
    LoaderRemedy.UNKNOWN: "",
    LoaderRemedy.NOTHING: "More workers would not help.",
    LoaderRemedy.PERSISTENT: f"{RULES['persistent-workers'].change}.",
    LoaderRemedy.RECEIVING: f"Batches waited to be received: {RULES['receiving'].change}.",
}
_KINDS = {"pool": "of Pool", "executor": "of ProcessPoolExecutor", "process": "of Process"}


def worker_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`loaders` and `workers`, if there are child processes."""
    rows = worker_rows(findings)
    return {"loaders": loader_rows(findings), "workers": rows} if rows else {}


def workers(findings: Findings, _: Choice) -> Iterator[Block]:
    """The table, the waiting, and other children; nothing without children."""
    found = findings[WorkerFindings]
    loaders, others = loader_rows(findings), [row for row in worker_rows(findings) if row.kind != "loader"]
    if not loaders and not others:
        return
    yield Heading("Child processes", _said(worker_rows(findings)))
    if loaders:
        yield Table(columns(_COLUMNS, loaders), notes=lambda _: _notes(loaders))
    for row in loaders:
        waited = _waited(row, found)
        if waited:
            yield Paragraph(waited if len(loaders) == 1 else f"{printable(row.name)}: {waited}", indent=2)
    if others:
        yield Paragraph(_others(others), indent=2)


def _said(rows: Sequence[WorkerRow]) -> str:
    number = sum(row.processes for row in rows)
    detailed = sum(row.is_detailed for row in rows)
    ended = sum(row.is_whole for row in rows if row.processes == 1)
    known = sum(row.processes for row in rows if row.processes == 1)
    sums = "" if detailed == number else f", {number - detailed:,} as sums"
    incomplete = f"; {known - ended:,} incomplete (terminated, killed, or left by os._exit)"
    return f"{number:,}: {detailed:,} recorded in detail{sums}{incomplete if ended < known else ''}"


def _most(row: LoaderRow) -> str:
    if row.line is None or row.line_ns is None:
        return ""
    return f"{units.percent(row.line_ns / max(row.dataset_ns, 1))} {shorten.place(row.line)}"


def _number(row: LoaderRow) -> str:
    method = f" {row.method}" if row.method else ""
    return f"{row.workers or '?'}{method}" + (f" ({row.processes:,})" if row.processes != row.workers else "")


def _of_batch(row: LoaderRow) -> float | None:
    return row.busy_ns / row.batches if row.batches else None


def _notes(rows: Sequence[LoaderRow]) -> Iterator[str]:
    yield (
        "a batch: time of a worker for one batch; percentages refer to the workers' time after they were "
        "ready; idle: no batch to make; sending: in the background; queued: mean number of finished batches"
    )
    if any(row.transform_ns is not None for row in rows):
        yield "reading and transform (with decoding) are shares of the dataset's time, by samples"


def _waited(row: LoaderRow, found: WorkerFindings) -> str:
    """Returns how long the main process waited for them, and whether more workers could help."""
    if row.waited_ns is None or row.span_ns <= 0:
        return ""
    share = row.waited_ns / row.span_ns
    start_ns = units.duration(row.start_wait_ns)
    start = f", {start_ns} of that while workers started" if row.start_wait_ns else ""
    both = ", also those of other loaders that had workers then" if row.shares_waits else ""
    pinned = "" if row.pinning_ns is None else f" Pinning took {units.duration(row.pinning_ns)}."
    waited = (
        f"The main process waited {units.duration(row.waited_ns)} for batches{both}{start}: "
        f"{units.percent(share)} of the time during which workers existed.{pinned}"
    )
    return f"{waited} {_more(row, found)}".rstrip()


def _more(row: LoaderRow, found: WorkerFindings) -> str:
    remedy, used, cores = row.verdict.remedy, found.cores_used, found.cores
    in_use = ""
    if used is not None and cores:
        in_use = f"{units.tenths(used)} of {units.plain(cores)} processors were in use"
    if remedy in _HELPS:
        return _HELPS[remedy]
    if remedy is LoaderRemedy.NO_PROCESSOR:
        return f"More workers would not help: {in_use}."
    room = f"; {in_use}" if in_use else ""
    return f"One more worker could save at most {units.duration(row.most_gain_ns)}{room}."


def _others(rows: Sequence[WorkerRow]) -> str:
    """Children that are not workers of a DataLoader, by kind."""
    counts: dict[str, int] = {}
    for row in rows:
        kind = _KINDS.get(row.kind or "", "of unknown kind")
        counts[kind] = counts.get(kind, 0) + row.processes
    cpu_ns = sum(row.cpu_ns or 0 for row in rows)
    parts = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    return f"Others: {parts}; CPU {units.duration(cpu_ns)} as far as known."


def _part(row: LoaderRow, time_ns: int | None) -> str:
    """A time as a share of the workers' time after they were ready; empty if it is not known."""
    return "" if time_ns is None else units.percent(time_ns / max(row.busy_ns + row.waiting_ns, 1))


def _has_samples(row: LoaderRow) -> bool:
    return row.reading_ns is not None


def _dataset_column(rows: Sequence[LoaderRow]) -> Column:
    """It may be dropped if its parts are shown."""
    rank = 3 if any(map(_has_samples, rows)) else 0
    return figures("dataset's part", (_part(row, row.dataset_ns) for row in rows), rank)


_COLUMNS: tuple[Head[Sequence[LoaderRow]], ...] = (
    text("dataset", "Class of the dataset.", lambda row: printable(row.name), least=8),
    figure("workers", "Number of worker processes and their start method.", _number),
    figure("batches", "Number of batches that they made.", lambda row: units.count(row.batches), 2),
    figure(
        "a batch",
        "Time that a worker takes for one batch.",
        lambda row: units.duration(_of_batch(row)),
        style="bold",
    ),
    Head("dataset's part", "Share of the workers' time spent in the dataset.", _dataset_column),
    figure(
        "reading",
        "Share of the workers' time spent reading files in the dataset, by samples.",
        lambda row: _part(row, row.reading_ns),
        1,
        shown=_has_samples,
    ),
    figure(
        "transform",
        "Share of the workers' time spent in transforms, by samples.",
        lambda row: _part(row, row.transform_ns),
        1,
        shown=_has_samples,
    ),
    figure(
        "collate",
        "Share of the workers' time spent combining items into batches.",
        lambda row: _part(row, row.collate_ns),
        1,
    ),
    figure(
        "put",
        "Share of the workers' time spent putting batches into the queue.",
        lambda row: _part(row, row.put_ns),
        1,
    ),
    figure(
        "idle",
        "Share of the workers' time without a batch to make.",
        lambda row: _part(row, row.waiting_ns),
        1,
    ),
    figure(
        "sending",
        "Time of the queue's own thread, which sends batches in the background.",
        lambda row: units.duration(row.send_ns),
        4,
    ),
    figure("start-up", "Time until the workers were ready.", lambda row: units.duration(row.start_up_ns), 2),
    figure("CPU", "CPU time of the workers.", lambda row: units.duration(row.cpu_ns), 3),
    figure(
        "queued",
        "Mean number of finished batches in the queue.",
        lambda row: "" if row.queued is None else units.tenths(row.queued),
        3,
    ),
    text(
        "most of dataset",
        "Line of the dataset with most of its time, by samples.",
        _most,
        1,
        shown=lambda row: row.line is not None,
        style="cyan",
    ),
)

WORKERS = Section(
    "workers",
    (WorkerFindings,),
    workers,
    worker_tables,
    shows=(WorkerTeams,),
    titles=("Child processes",),
    means="Processes started by `multiprocessing`, and how DataLoader workers spent their time.",
    heads=_COLUMNS,
    json={
        "loaders": "The section *workers*: each DataLoader.",
        "workers": "The section *workers*: each process.",
    },
)
