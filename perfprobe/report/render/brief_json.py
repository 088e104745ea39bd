"""The JSON document in at most 40,000 bytes, for a coding agent: what was judged, and the largest rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from perfprobe.report.render.json import Document
from perfprobe.report.rows.row import Values, plain
from perfprobe.support.frozen import frozen

MOST_BYTES = 40_000
ROWS = 10
LETTERS = 200
# The document's tables. A field: the rows have no order of their own, and its largest values come first.
TABLES: Mapping[str, str] = {
    "first_screen": "",
    "diagnoses": "",
    "advice": "",
    "advice_unknown": "",
    "loops": "",
    "benchmark": "",
    "benchmark_measures": "",
    "baseline": "",
    "totals": "",
    "account": "",
    "gpu_account": "",
    "hotspots": "",
    "lines": "",
    "modules": "total_ns",
    "functions": "",
}
# Facts about the run that explain its times.
FACTS = ("program", "host", "versions", "torch", "recording", "trace", "rank", "gpu", "stop")
_WHOLE = ("first_screen",)  # as many rows as there are
_LEVELS = ((ROWS, LETTERS), (5, 80), (3, 60), (1, 40), (0, 20))  # rows and letters: the first that fit
_ENTRIES = 4  # entries of a fact, for each row that a table may have
_NULLS, _LISTS, _LETTERS, _FACTS = "null fields", "lists within rows", "letters of texts", "entries of facts"


@frozen
class BriefDocument(Document):
    """The same document with fewer rows, each on one line."""

    def pieces(self, depth: int = 0) -> Iterator[str]:
        """The text, a row at a time. depth: how deep the document stands in another one."""
        blank = " " * (depth + 1)
        yield "{"
        for name, value in self.head.items():
            yield f"\n{blank}{_text(name)}: {_text(value)},"
        yield f'\n{blank}"tables": {{'
        for number, (name, rows) in enumerate(self.tables.items()):
            listed = ",".join(f"\n{blank}  {_text(plain(row))}" for row in rows)
            yield f"{',' if number else ''}\n{blank} {_text(name)}: [{listed}]"
        yield f"}}\n{' ' * depth}}}"


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def brief(document: Document, command: str, top: int | None = None) -> BriefDocument:
    """Returns the part of a document that fits, with what it leaves out.

    Args:
        command: prints all of it.
        top: rows of a table, None or 0 for ten.
    """
    asked = (top or ROWS, LETTERS)
    for rows, letters in (asked, *(level for level in _LEVELS if level < asked)):
        found = _Cut(document, rows, letters).document(command)
        if sum(map(len, found.pieces())) <= MOST_BYTES:
            break
    return found


class _Cut:
    """A document with so many rows in a table, so many letters in a text, and a count of what is left out."""

    def __init__(self, document: Document, rows: int, letters: int) -> None:
        self._document = document
        self._rows = rows
        self._letters = letters
        self._left_out = dict.fromkeys((_NULLS, _LISTS, _LETTERS, _FACTS), 0)

    def document(self, command: str) -> BriefDocument:
        """Returns it. command: prints all of it."""
        given = self._document
        tables = {name: self._table(name) for name in TABLES if name in given.tables}
        losses = [self._row(row) for row in given.head["missing"][: self._rows]]
        meta = {name: given.head["meta"][name] for name in FACTS if name in given.head["meta"]}
        head = {
            "schema": given.head["schema"],
            "meta": self._within(meta),
            "view": self._within(given.head["view"]),
            "missing": losses,
            "left_out": [*self._rows_left_out(tables), *self._parts_left_out(len(losses))],
            "all": command,
        }
        return BriefDocument(head, tables)

    def _table(self, name: str) -> list[Values]:
        rows: Sequence[Any] = self._document.tables[name]
        if TABLES[name]:
            largest = sorted(map(plain, rows), key=itemgetter(TABLES[name]), reverse=True)
            rows = [Values(row) for row in largest]
        most = len(rows) if name in _WHOLE and self._rows else self._rows
        return [Values(self._row(plain(row))) for row in rows[:most]]

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that have a value, without lists of rows."""
        known = {name: value for name, value in row.items() if value is not None}
        short = {name: value for name, value in known.items() if not isinstance(value, (list, tuple))}
        self._left_out[_NULLS] += len(row) - len(known)
        self._left_out[_LISTS] += len(known) - len(short)
        return {name: self._within(value) for name, value in short.items()}

    def _within(self, value: Any) -> Any:
        """The value with texts cut, and the first entries of what it has inside."""
        most = _ENTRIES * self._rows
        if isinstance(value, str):
            self._left_out[_LETTERS] += max(len(value) - self._letters, 0)
            return value if len(value) <= self._letters else f"{value[: self._letters]}…"
        if isinstance(value, (Mapping, list, tuple)):
            self._left_out[_FACTS] += max(len(value) - most, 0)
        if isinstance(value, Mapping):
            return {self._within(name): self._within(each) for name, each in list(value.items())[:most]}
        if isinstance(value, (list, tuple)):
            return [self._within(each) for each in value[:most]]
        return value

    def _rows_left_out(self, tables: Mapping[str, Sequence[Values]]) -> Iterator[dict[str, Any]]:
        for name, rows in self._document.tables.items():
            shown = len(tables.get(name, ()))
            if shown < len(rows):
                yield {"part": name, "shown": shown, "left_out": len(rows) - shown}

    def _parts_left_out(self, losses: int) -> Iterator[dict[str, Any]]:
        missing = len(self._document.head["missing"])
        if losses < missing:
            yield {"part": "missing", "shown": losses, "left_out": missing - losses}
        facts = len(self._document.head["meta"].keys() - set(FACTS))
        if facts:
            yield {"part": "meta", "shown": len(self._document.head["meta"]) - facts, "left_out": facts}
        yield from ({"part": part, "left_out": count} for part, count in self._left_out.items() if count)
