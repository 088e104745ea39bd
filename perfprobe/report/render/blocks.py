"""Draws blocks for a terminal of a given width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from perfprobe.report.render import columns
from perfprobe.report.render.collisions import told_apart
from perfprobe.report.render.folded import folded
from perfprobe.report.render.paragraph import heading, indented, joined, paragraph
from perfprobe.report.section.block import (
    BRIEF,
    Aside,
    Below,
    Blank,
    Block,
    Column,
    Fact,
    Facts,
    Heading,
    Paragraph,
    Said,
    Shown,
    Table,
)
from perfprobe.report.shorten import cut

INDENT = 4  # cells before lines below a row
LABEL = 8  # cells of a label on the first screen


def drawn(block: Block, width: int) -> Iterator[RenderableType]:
    """The objects that rich prints for a block. width: in cells."""
    if isinstance(block, Heading):
        yield heading(block.title, block.said, width, block.style)
    elif isinstance(block, Paragraph):
        text = block.brief if block.brief and width < BRIEF else block.text
        yield indented(text, width, block.indent) if block.indent else paragraph(text, width, block.style)
    elif isinstance(block, Facts):
        yield joined([_fact(fact, width) for fact in block.facts], width)
    elif isinstance(block, Said):
        yield _said(block, width)
    elif isinstance(block, Blank):
        yield Text("")
    else:
        yield from _table(block, width)


def _said(said: Said, width: int) -> Text:
    """One line: as many pieces as fit, but always the first."""
    label = f"{said.label:<{LABEL}}" if len(said.label) < LABEL else f"{said.label}  "
    if said.whole:
        line = ((label, "bold"), ("".join(said.pieces), said.style))
        return Text.assemble(*line, no_wrap=True, overflow="ignore")
    room = width - cell_len(label)
    text = cut(_fitting(said.pieces, room), max(room, 1))
    return Text.assemble((label, "bold"), (text, said.style))


def _fitting(pieces: Sequence[str], room: int) -> str:
    """The first pieces that fit, at least one, without those that may be left out before others."""
    text = pieces[0]
    for piece in pieces[1:]:
        if cell_len(text + piece) <= room:
            text += piece
        elif not isinstance(piece, Aside):
            break
    return text


def _fact(fact: Fact, width: int) -> Text:
    text = fact.text if fact.longest is None else cut(fact.text, min(fact.longest, width))
    return Text(text, style=fact.style)


def _table(table: Table, width: int) -> Iterator[RenderableType]:
    if table.folds:
        yield folded(table.columns, width)
        return
    placed = columns.fit([_in(column, width) for column in table.columns], width)
    if table.whole:
        placed = told_apart(placed, table.whole)
    if table.parts:
        yield from _parts(table, placed)
    elif table.below is not None:
        yield from _with_below(table.below, placed, width)
    else:
        yield columns.table(placed)
    titles = [column.title for column, _ in placed]
    left_out = [column.title for column in table.columns if column.title not in titles]
    for note in table.notes(Shown(titles, left_out, columns.roomy_width(table.columns))):
        yield paragraph(note, width, "dim")


def _in(column: Column, width: int) -> Column:
    """The column as drawn in a table of this width."""
    if width < column.roomy:
        title, cells = column.brief_title or column.title, column.brief or column.cells
        column = replace(column, title=title, cells=cells)
    if column.leaves and column.least is not None:
        column = replace(column, least=min(column.least, width - column.leaves))
    return column


def _parts(table: Table, placed: Sequence[columns.Placed]) -> Iterator[RenderableType]:
    first = 0
    for part in table.parts:
        yield Text.assemble((part.title, "bold cyan"), (f"  ({part.said})" if part.said else "", "dim"))
        yield _rows(placed, first, part.rows)
        first += part.rows


def _with_below(below: Below, placed: Sequence[columns.Placed], width: int) -> Iterator[RenderableType]:
    first, *_, last = placed
    indent = first.width + columns.BETWEEN if first.column.title == below.behind else INDENT
    for at, cell in enumerate(last.column.cells):
        yield _rows(placed, at, 1)
        for text in below.lines(at, cell_len(cell) > last.width):
            yield indented(text, width, indent)


def _rows(placed: Sequence[columns.Placed], first: int, rows: int) -> columns.Lines:
    """Some of the table's rows; the first ones have its header."""
    chosen = slice(first, first + rows)
    part = [
        columns.Placed(replace(column, cells=column.cells[chosen], styles=column.styles[chosen]), cells)
        for column, cells in placed
    ]
    return columns.table(part, header=first == 0)
