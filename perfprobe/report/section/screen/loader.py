"""DataLoader's workers on the first screen, for steps that wait for them."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.named import OF_ROW, is_named
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.rows.workers import LoaderRow, loader_rows
from perfprobe.report.section.screen.advice import remedy
from perfprobe.report.section.screen.places import whole_percent
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import LoaderRemedy

_PARTS = {"dataset": "dataset_ns", "collate": "collate_ns", "idle": "waiting_ns"}


def awaited_loader(findings: Findings) -> LoaderRow | None:
    """The workers that the main process waited for longest; None if it did not wait, or if not known."""
    rows = [row for row in loader_rows(findings) if row.waited_ns and row.batches]
    return max(rows, key=lambda row: row.waited_ns or 0, default=None)


def worker_lines(findings: Findings, row: LoaderRow) -> Iterator[ScreenRow]:
    """What the workers do, and whether starting them is the problem."""
    yield said("", *_parts(row))
    if row.verdict.mostly_starts:
        yield said("", f"started {row.starts:,} times", *remedy(findings, "persistent-workers"))
    elif row.verdict.remedy is LoaderRemedy.RECEIVING:
        yield said("", "batches wait to be received", *remedy(findings, "receiving"))


def _parts(row: LoaderRow) -> Iterator[str]:
    """`2 workers, 107 ms a batch each: dataset 92 %, collate 5 %, idle 3 %`, in pieces."""
    number = "workers" if row.workers is None else f"{row.workers} worker{'' if row.workers == 1 else 's'}"
    yield f"{number}, {units.duration(row.busy_ns / row.batches)} a batch each"
    whole_ns = max(row.busy_ns + row.waiting_ns, 1)
    shares = {name: getattr(row, column) / whole_ns for name, column in _PARTS.items()}
    named = [
        f"{name} {whole_percent(share)}" for name, share in shares.items() if is_named(share, least=OF_ROW)
    ]
    yield from listed(named, first=": ")
