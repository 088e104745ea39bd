"""The report as a JSON document. Within a schema fields are only added; null is what was not measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.losses import loss_rows
from perfprobe.report.rows.ranking import sort_of
from perfprobe.report.rows.row import plain
from perfprobe.report.section.advice import advice_tables
from perfprobe.report.section.listed import PEER_SECTIONS, SECTIONS
from perfprobe.report.section.screen.screen import screen_tables
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings, Hotspots

SCHEMA = 1
# The order of tables in earlier documents. Tables that are not named here come last.
_ORDER = (
    *("first_screen", "advice", "advice_unknown"),
    *("measurements", "hotspots", "ranges", "totals", "lines", "between", "sources", "differences"),
    *("python", "functions", "calls", "threads", "imports"),
    *("gpu", "devices", "kernels", "copies", "gpu_waits", "api_calls", "steps", "named_ranges"),
    *("modules", "library_lines"),
    *("processors", "thread_times", "processor_windows"),
    *("loops", "phases", "start_up"),
)


@frozen
class Document:
    """All findings: {"schema", "meta", "missing", "tables": {name: [{column: value}]}}.

    Attributes:
        head: everything but the tables, which come last.
        tables: rows as `rows` has them. They become plain values one by one, as there may be many.
    """

    head: Mapping[str, Any]
    tables: Mapping[str, Sequence[Any]]

    def plain(self) -> dict[str, Any]:
        """Ready for json.dumps."""
        tables = {name: [plain(row) for row in rows] for name, rows in self.tables.items()}
        return {**self.head, "tables": tables}

    def pieces(self, depth: int = 0) -> Iterator[str]:
        """The text that json.dumps(self.plain(), indent=1) makes, a row at a time.

        depth: how deep the document stands in another one.
        """
        yield _text(self.head, depth).removesuffix(f"\n{' ' * depth}}}")
        yield f',\n{" " * (depth + 1)}"tables": {{'
        for number, (name, rows) in enumerate(self.tables.items()):
            yield f"{',' if number else ''}\n{' ' * (depth + 2)}{_text(name)}: "
            yield from _listed((_text(plain(row), depth + 3) for row in rows), depth + 2)
        yield f"\n{' ' * (depth + 1)}}}" if self.tables else "}"
        yield f"\n{' ' * depth}}}"


def listed(documents: Iterable[Document | Mapping[str, Any]]) -> Iterator[str]:
    """The text of a list of documents, each made when it is written."""
    for number, each in enumerate(documents):
        yield "[\n " if number == 0 else ",\n "
        yield from each.pieces(1) if isinstance(each, Document) else [_text(each, 1)]
    yield "\n]"


def _listed(texts: Iterator[str], depth: int) -> Iterator[str]:
    is_empty = True
    for text in texts:
        yield f"{'[' if is_empty else ','}\n{' ' * (depth + 1)}{text}"
        is_empty = False
    yield "[]" if is_empty else f"\n{' ' * depth}]"


def _text(value: Any, depth: int = 0) -> str:
    """Line ends are only those between values: within texts they are escaped."""
    return json.dumps(value, indent=1, allow_nan=False).replace("\n", f"\n{' ' * depth}")


def document(findings: Findings, **choices: Any) -> dict[str, Any]:
    """The document of these findings, ready for json.dumps. choices: as for `written`."""
    return written(findings, **choices).plain()


def written(
    findings: Findings,
    *,
    top: int | None = None,
    sort: str = "self",
    screen: Findings | None = None,
) -> Document:
    """The document of these findings, to be written.

    Args:
        top: rows of a table; None or 0 for all.
        sort: one of `support.view.SORTS`.
        screen: the rows of the first screen, None for no such table.

    Raises:
        UsageError: a `sort` that does not exist, a negative `top`.
    """
    choice = Choice(top, sort_of(findings, sort), peer_sort=sort)
    found: dict[str, Any] = {} if screen is None else screen_tables(screen, choice) | advice_tables(screen)
    for section in (*SECTIONS, *PEER_SECTIONS):
        if all(kind in findings for kind in section.requires):
            found |= section.tables(findings, choice)
    names = sorted(found, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    head = {
        "schema": SCHEMA,
        "meta": dict(findings.trace.recording.meta),
        "view": _view(findings),
        "missing": [plain(row) for row in loss_rows(findings)] if Hotspots in findings else [],
    }
    return Document(head, {name: found[name] for name in names})


def _view(findings: Findings) -> dict[str, Any]:
    """Returns how the rows of operators are grouped, and how many there are without the focus."""
    hotspots = findings.get(Hotspots)
    names = () if hotspots is None else ("group", "focus", "whole_rows", "whole_ranges")
    return {name: getattr(hotspots, name) for name in names}
