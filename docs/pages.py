"""Writes docs/format.md and docs/tables.md from the classes that declare the tables, and parts of others.

    python -m docs.pages            write them (`make docs` also draws the picture and builds the guides)

The texts are those of the code: docstrings, `column(...)`, and the layout that `tables/storage.py` describes;
in README and guides those that `docs/filled.py` lists.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from enum import IntEnum
from pathlib import Path

from docs.filled import filled
from perfprobe.analyse.findings import SHOWN
from perfprobe.tables import storage
from perfprobe.tables.columns import TEXT, Column, Combine, Table
from perfprobe.tables.declared import declared
from perfprobe.tables.definitions import IN_MEMORY, MOST_ROWS, OF_THE_WHOLE, STREAMED

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
README = ROOT / "README.md"
SKILL = ROOT / "perfprobe/SKILL.md"
COMMAND = "make docs"
RECORDED: tuple[type[Table], ...] = (*STREAMED, *IN_MEMORY, *OF_THE_WHOLE)
_HEAD = "| column | type | unit | meaning | row of | combined |\n|---|---|---|---|---|---|"
_QUOTED = re.compile(r"`(\w+)`")


def pages() -> dict[str, str]:
    """The text of each page, by its path from the root."""
    made = {"docs/format.md": "\n".join(_format()), "docs/tables.md": "\n".join(_tables())}
    for path in (README, SKILL, *sorted(FOLDER.glob("*.md"))):
        made.setdefault(str(path.relative_to(ROOT)), filled(path.read_text(encoding="utf-8")))
    return made


def _format() -> Iterator[str]:
    yield f"""# The file of a recording

<!-- Written by `{COMMAND}` from the code: change the code, not this page. -->

A `{storage.SUFFIX}` file is the magic bytes `{storage.MAGIC.decode().strip()}` and a newline, a version
(now {storage.FORMAT_VERSION}), and blocks. Each block holds rows of one table, column by column, with a
CRC-32 of its own. Every block begins with the number `0x{storage.MARKER:08X}`.

## Layout

{_described(storage)}

## Reading

- `perfprobe.tables.storage.read(path)` returns a `Recording`; `recording[Kernels]` is a table.
- Ids are row numbers of the table that the column *row of* names, -1 for none. Times are nanoseconds of
  CLOCK_MONOTONIC. In a column marked *or -1*, -1 means that the value was not recorded.
- A table with a limit of rows says so below. All tables that name none, operators aside, may have
  {MOST_ROWS:,} rows together. Operators are read block by block: a block has at most
  {storage.MOST_BLOCK_ROWS:,} rows, and the number of blocks is not limited.
- Text columns are UTF-8. All other columns are integers; readers narrow them to the type that is named here.

## Tables
"""
    for kind in RECORDED:
        yield from _table(kind, f"`{kind.table_name}`", _limit(kind))
    yield from _words(RECORDED)


def _tables() -> Iterator[str]:
    yield f"""# Tables made from a recording

<!-- Written by `{COMMAND}` from the code: change the code, not this page. -->

`merge` and `analyse` make these tables; they are never in a file. [format.md](format.md) has those that are.
*combined* says what a row that stands for several rows holds. *or -1* marks values that may be missing.

## Tables
"""
    made = [*(kind for kind in declared() if kind not in RECORDED), *SHOWN]
    for kind in made:
        module = kind.__module__.replace(".", "/")
        yield from _table(kind, f"`{kind.__name__}`", f"Declared in `{module}.py`.")
    yield from _words(made)


def _described(module: object) -> str:
    """What the module's docstring says of the layout, without its first line."""
    return (inspect.getdoc(module) or "").partition("\n")[2].strip("\n")


def _limit(kind: type[Table]) -> str:
    return "" if kind.most_rows is None else f"At most {kind.most_rows:,} rows."


def _table(kind: type[Table], title: str, said: str) -> Iterator[str]:
    yield f"### {title}\n\n{inspect.getdoc(kind)}\n"
    if said:
        yield f"{said}\n"
    yield _HEAD
    for column in kind.described.values():
        yield f"| {' | '.join(_cells(column))} |"
    yield ""


def _cells(column: Column) -> Iterator[str]:
    yield f"`{column.name}`"
    kind = "text" if column.dtype == TEXT else str(column.dtype)
    yield f"{kind} or -1" if column.optional else kind
    yield column.unit
    yield column.meaning.replace("|", "\\|")
    target = column.refers_to
    yield "" if target is None else f"`{target.table_name or target.__name__}`"
    yield "" if column.combine is Combine.NONE else column.combine.value


def _words(kinds: Iterable[type[Table]]) -> Iterator[str]:
    """The numbers that stand for words, of every enumeration that a column names."""
    yield "## Numbers that stand for words\n"
    for name, found in sorted(_enumerations(kinds).items()):
        yield f"### `{name}`\n\n{inspect.getdoc(found)}\n\n| value | name |\n|---|---|"
        yield from (f"| {each.value} | `{each.name}` |" for each in found)
        yield ""


def _enumerations(kinds: Iterable[type[Table]]) -> dict[str, type[IntEnum]]:
    named = {
        word: vars(sys.modules[kind.__module__]).get(word)
        for kind in kinds
        for column in kind.described.values()
        for word in _QUOTED.findall(column.meaning)
    }
    return {
        word: found for word, found in named.items() if inspect.isclass(found) and issubclass(found, IntEnum)
    }


def main() -> None:
    """Write the pages."""
    for name, text in pages().items():
        (ROOT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
