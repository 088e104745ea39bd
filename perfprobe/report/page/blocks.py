"""Blocks as a page has them: the same as in a terminal, with all columns and nothing cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perfprobe.report.page.packed import LONGEST
from perfprobe.report.section.block import (
    Blank,
    Block,
    Column,
    Facts,
    Heading,
    Paragraph,
    Said,
    Section,
    Shown,
    Table,
)
from perfprobe.report.shorten import cut


def shown(blocks: Iterable[Block], section: Section | None = None) -> list[dict[str, Any]]:
    """The blocks, ready for JSON. section: explains the columns."""
    means = {} if section is None else section.columns()
    return [_shown(block, means) for block in blocks if not isinstance(block, Blank)]


def _shown(block: Block, means: dict[str, str]) -> dict[str, Any]:
    if isinstance(block, Heading):
        return {"kind": "heading", "text": _cut(block.title), "said": _cut(block.said), "style": block.style}
    if isinstance(block, Paragraph):
        return {"kind": "paragraph", "text": _cut(block.text), "style": block.style}
    if isinstance(block, Facts):
        return {"kind": "facts", "facts": [[_cut(fact.text), fact.style] for fact in block.facts]}
    if isinstance(block, Said):
        return {
            "kind": "said",
            "label": block.label,
            "text": _cut("".join(block.pieces)),
            "style": block.style,
            "command": block.whole,
        }
    assert isinstance(block, Table)
    return _table(block, means)


def _table(table: Table, means: dict[str, str]) -> dict[str, Any]:
    titles = [column.title for column in table.columns]
    found: dict[str, Any] = {
        "kind": "table",
        "columns": [_column(column, means.get(column.title, "")) for column in table.columns],
        "parts": [[_cut(part.title), _cut(part.said), part.rows] for part in table.parts],
        "notes": [_cut(note) for note in table.notes(Shown(titles))],
    }
    if table.below is not None and table.columns:
        rows = range(len(table.columns[0].cells))
        found["below"] = [[_cut(line) for line in table.below.lines(at, True)] for at in rows]
    return found


def _column(column: Column, means: str) -> dict[str, Any]:
    return {
        "title": column.title,
        "shows": column.shows,
        "means": means,
        "rank": column.rank,
        "right": column.align == "right",
        "style": column.style,
        "styles": list(column.styles),
        "cells": [_cut(cell) for cell in column.cells],
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else cut(text, LONGEST)
