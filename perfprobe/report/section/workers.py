"""DataLoader's workers: the parts of their time, and how long the main process waited for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.workers import LoaderRow, WorkerRow, loader_rows, worker_rows
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import LoaderRemedy
from perfprobe.tables.workers import Feeding

_HELPS = {
    LoaderRemedy.UNKNOWN: "",
    LoaderRemedy.NOTHING: "More workers would not help.",
    LoaderRemedy.PERSISTENT: "persistent_workers=True starts them once.",
}
_KINDS = {"pool": "of Pool", "executor": "of ProcessPoolExecutor", "process": "of Process"}


def worker_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`loaders` and `workers`, if there are child processes."""
    rows = worker_rows(findings)
    return {"loaders": loader_rows(findings), "workers": rows} if rows else {}


def workers(findings: Findings, _: Choice) -> Iterator[Block]:
    """The table, the waiting, and other children; nothing without children."""
    found = findings[Feeding]
    loaders, others = loader_rows(findings), [row for row in worker_rows(findings) if row.kind != "loader"]
    if not loaders and not others:
        return
    yield Heading("Child processes", _said(worker_rows(findings)))
    if loaders:
        yield Table(_columns(loaders), notes=lambda _: _notes(loaders))
    for row in loaders:
        text = _waited(row, found)
        if text:
            yield Paragraph(text if len(loaders) == 1 else f"{printable(row.name)}: {text}", indent=2)
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


def _columns(rows: Sequence[LoaderRow]) -> list[Column]:
    lived = [row.busy_ns + row.waiting_ns for row in rows]

    def part(name: str) -> list[str]:
        times_ns = [getattr(row, name) for row in rows]
        return [
            "" if time_ns is None else units.percent(time_ns / max(whole, 1))
            for time_ns, whole in zip(times_ns, lived, strict=True)
        ]

    has_samples = any(row.reading_ns is not None for row in rows)
    dataset = [("reading", "reading_ns"), ("transform", "transform_ns")] if has_samples else []
    any_line = any(row.line is not None for row in rows)
    parts = [*dataset, ("collate", "collate_ns"), ("put", "put_ns"), ("idle", "waiting_ns")]
    return [
        Column("dataset", [printable(row.name) for row in rows], least=8),
        figures("workers", [_number(row) for row in rows]),
        figures("batches", (units.count(row.batches) for row in rows), 2),
        figures("a batch", (units.duration(_of_batch(row)) for row in rows), style="bold"),
        figures("dataset's part", part("dataset_ns"), 0 if not has_samples else 3),
        *(figures(title, part(name), 1) for title, name in parts),
        figures("sending", (units.duration(row.send_ns) for row in rows), 4),
        figures("start-up", (units.duration(row.start_up_ns) for row in rows), 2),
        figures("CPU", (units.duration(row.cpu_ns) for row in rows), 3),
        figures("queued", ("" if row.queued is None else f"{row.queued:.1f}" for row in rows), 3),
        *([Column("most of dataset", [_most(row) for row in rows], 1, style="cyan")] if any_line else []),
    ]


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


def _waited(row: LoaderRow, found: Feeding) -> str:
    """Returns how long the main process waited for them, and whether more workers could help."""
    if row.waited_ns is None or row.span_ns <= 0:
        return ""
    share = row.waited_ns / row.span_ns
    start_ns = units.duration(row.start_wait_ns)
    start = f", {start_ns} of that while workers started" if row.start_wait_ns else ""
    both = ", also those of other loaders that had workers then" if row.shares_waits else ""
    pinned = "" if row.pinning_ns is None else f" Pinning took {units.duration(row.pinning_ns)}."
    text = (
        f"The main process waited {units.duration(row.waited_ns)} for batches{both}{start}: "
        f"{units.percent(share)} of the time during which workers existed.{pinned}"
    )
    return f"{text} {_more(row, found)}".rstrip()


def _more(row: LoaderRow, found: Feeding) -> str:
    remedy, used, cores = row.verdict.remedy, found.cores_used, found.cores
    in_use = f"{used:.1f} of {cores:g} processors were in use" if used is not None and cores else ""
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
