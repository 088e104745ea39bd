"""The committed results of what was tried with which version, and their tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.overhead.tables import Spread, markdown

Row = dict[str, Any]
FILE = Path(__file__).with_name("results.json")


def rows(kind: str) -> list[Row]:
    """Those of a kind: pythons or torches."""
    found: list[Row] = json.loads(FILE.read_text(encoding="utf-8")).get(kind, [])
    return found


def merged(kind: str, new: Sequence[Row], keys: Sequence[str]) -> None:
    """Writes new rows, in place of those with the same values of these keys, in the order of versions."""
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    by_key = {tuple(row[key] for key in keys): row for row in [*known.get(kind, []), *new]}
    known[kind] = [by_key[key] for key in sorted(by_key, key=lambda key: [_numbers(part) for part in key])]
    FILE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _numbers(version: str) -> tuple[list[int], str]:
    parts = version.partition("+")[0].split(".")
    return [int(part) for part in parts if part.isdigit()], version


def of_pythons(rows: Sequence[Row]) -> str:
    """What looks at the stack cost, and how well samples divide time, as Markdown."""
    head = ["Python", "look, 30 calls deep, ns", "900 calls deep, ns", "shares: largest error, points"]
    return markdown(head, [_python(each) for each in rows])


def _python(row: Row) -> list[str]:
    depths = [Spread.of(row["looks_ns"][depth]).text(0) for depth in ("30", "900")]
    errors = [max(abs(truth - seen) for truth, seen in run) for run in row["shares"]]
    return [row["python"], *depths, Spread.of(errors).text(1) if errors else ""]


def of_torches(rows: Sequence[Row]) -> str:
    """What was recorded of a known program, as Markdown."""
    head = "| torch | Python | torch from | operators by | known operators, lines and phases | tried |"
    return "\n".join([head, "|---|---|---|---|---|---|", *(f"| {' | '.join(_torch(row))} |" for row in rows)])


def _torch(row: Row) -> list[str]:
    by = {"observer": "the observer", "autograd": "torch's profiler", "none": "nothing"}[row["used"]]
    by += ", as asked" if row["asked"] == "autograd" else ""
    right = "all right" if row["ended"] and not row["wrong"] else "; ".join(row["wrong"]) or "did not end"
    return [row["torch"], row["python"], row["origin"], by, right, row["date"]]
