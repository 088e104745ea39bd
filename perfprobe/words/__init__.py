"""What the words of reports mean. `perfprobe explain` and the tables in the guides are made from this."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from perfprobe.models.rules import RULES
from perfprobe.report.section import compared_tables, history, machine, torch_columns, tried
from perfprobe.report.section import listed as sections
from perfprobe.report.section.described import explained as explained_by
from perfprobe.support.errors import UsageError
from perfprobe.support.views import PEER_VIEWS, SECTION_VIEWS
from perfprobe.tables.columns import Table
from perfprobe.tables.declared import declared
from perfprobe.words.comparison import COMPARISON
from perfprobe.words.first_screen import FIRST_SCREEN
from perfprobe.words.json_words import JSON_FIELDS, JSON_TABLES
from perfprobe.words.losses import REASONS, SOURCES
from perfprobe.words.terms import MARKS, TERMS
from perfprobe.words.values import VALUES
from perfprobe.words.verdicts import MODIFIERS, VERDICTS

_NEAR = 3
_BEGINNINGS = ("loss", "modifier of a verdict", "verdict")  # reports add to these: `poorly parallel: 1.1x`


def _shown() -> dict[str, type[Table]]:
    """The tables that sections show as they are, by name. Only for these the passes are loaded."""
    if not any(each.table for each in sections.SECTIONS):
        return {}
    from perfprobe.analyse.findings import SHOWN

    return {kind.table_name: kind for kind in SHOWN}


_SHOWN = _shown()
_SECTIONS = {
    each.name: explained_by(each, _SHOWN[each.table]) if each.table else each
    for each in (*sections.SECTIONS, *sections.PEER_SECTIONS)
}
# By section. Columns of torch's own table and of some commands are in no section.
COLUMNS: dict[str, dict[str, str]] = {
    **{name: titles for name, each in _SECTIONS.items() if (titles := each.columns())},
    "torch's own table": torch_columns.MEANINGS,
    "machine": machine.MEANINGS,
    "compare": compared_tables.MEANINGS,
    "history": history.MEANINGS,
    "advise": tried.MEANINGS,
}
TABLES: dict[str, str] = JSON_TABLES | {
    name: means for each in _SECTIONS.values() for name, means in each.json.items()
}
_VALUE = re.compile(r"\*\*([^*]+)\*\*: (.+?)(?= \*\*[^*]+\*\*:|$)")
_GUIDES = {"torch's own table": "report", "machine": "bench", "graph": "callgraph", "compare": "compare"}
_GUIDES |= {"history": "versions", "advise": "advise"}
_GUIDES |= {name: each.guide for name, each in _SECTIONS.items()}
_UNIT = re.compile(" (?:ns|bytes)$")


class Word(NamedTuple):
    """A word with one of its meanings.

    Attributes:
        name: as it is printed.
        kind: such as "column".
        text: sentences, in Markdown.
        of: where it appears.
        also: other words for it.
        guide: the page of docs/ that says more.
    """

    name: str
    kind: str
    text: str
    of: str = ""
    also: tuple[str, ...] = ()
    guide: str = ""


def listed() -> list[Word]:
    """Returns all words by kind, in the order of the guides."""
    return [word for words in by_kind().values() for word in words]


@cache
def by_kind() -> Mapping[str, Sequence[Word]]:
    """Returns the words of each kind."""
    return {
        "section": _views("section", SECTION_VIEWS),
        "view": _views("view", PEER_VIEWS),
        "line of the first screen": _words("line of the first screen", FIRST_SCREEN, "report"),
        "rule": [Word(name, "rule", rule.explained(), guide="report") for name, rule in RULES.items()],
        "line of a comparison": _words("line of a comparison", COMPARISON, "compare"),
        "column": [word for of in COLUMNS for word in _columns(of)],
        "value": [word for of in VALUES for word in _cells(of)],
        "mark": _words("mark", MARKS, "report"),
        "verdict": _words("verdict", VERDICTS, "bench"),
        "modifier of a verdict": _words("modifier of a verdict", MODIFIERS, "bench"),
        "source of losses": _words("source of losses", SOURCES, "limits"),
        "loss": _words("loss", REASONS, "limits"),
        "table of JSON": _words("table of JSON", TABLES, "json"),
        "field of JSON": _words("field of JSON", JSON_FIELDS, "json"),
        "term": _words("term", TERMS, "glossary"),
    }


def _words(kind: str, texts: Mapping[str, str], guide: str) -> list[Word]:
    return [Word(name, kind, text, guide=guide) for name, text in texts.items()]


def _views(kind: str, names: Iterable[str]) -> list[Word]:
    found = (_SECTIONS[name] for name in names)
    return [Word(each.name, kind, each.means, also=each.titles, guide=each.guide) for each in found]


def _columns(of: str) -> list[Word]:
    return [Word(title, "column", text, of=of, guide=_GUIDES[of]) for title, text in COLUMNS[of].items()]


def _cells(of: str) -> list[Word]:
    guide = _GUIDES[of.rpartition("(")[2].rstrip(")")]
    return [
        Word(name, "value", text, of=of, also=tuple(also), guide=guide)
        for names, text in VALUES[of].items()
        for name, *also in [names.split(" | ")]
    ]


def explained(asked: str, others: Sequence[Word] = ()) -> list[Word]:
    """Returns all meanings of a word, in any case, with `_` for a blank or not.

    Fields of tables only count if nothing else matches, then a field without its unit. A value is explained
    in the text of its column. A loss or verdict may be followed by more text, as reports print it.
    others: more words that count, such as options.

    Raises:
        UsageError: there is no such word.
    """
    wanted = "<" if asked.strip().startswith("<") else _folded(asked)
    known = [*listed(), *others]
    found = [*_named(wanted, known), *_values(wanted), *_tables(wanted)] or list(_fields(wanted))
    found = found or _named(_UNIT.sub("", wanted), known) or [word for word in known if _begins(word, wanted)]
    if not found:
        raise UsageError("no such word", asked, _remedy(wanted, known))
    return found


@cache
def _folded(name: str) -> str:
    """The name as it is compared: reports print blanks where JSON has `_`."""
    return name.strip().lower().replace("_", " ")


def _named(wanted: str, known: Sequence[Word]) -> list[Word]:
    return [word for word in known if wanted in map(_folded, (word.name, *word.also))]


def _begins(word: Word, wanted: str) -> bool:
    return word.kind in _BEGINNINGS and wanted.startswith(_folded(word.name))


def _values(wanted: str) -> Iterator[Word]:
    """Yields values that the text of a column explains, such as **activations** in `category`."""
    for word in by_kind()["column"]:
        for name, text in _VALUE.findall(word.text):
            if _folded(name) == wanted:
                of = f"{word.name} ({word.of})"
                yield Word(name, "value", f"{text[0].upper()}{text[1:]}", of=of, guide=word.guide)


def _tables(wanted: str) -> Iterator[Word]:
    """Yields tables in recordings and JSON with their columns, as declared."""
    for kind in (*declared(), *_SHOWN.values()):
        if wanted in map(_folded, (kind.table_name, kind.__name__)):
            said = " ".join((inspect.getdoc(kind) or "").split())
            columns = ", ".join(f"`{name}`" for name in kind.described)
            yield Word(_title(kind), "table", f"{said} Columns: {columns}.", guide=_page(kind))


def _fields(wanted: str) -> Iterator[Word]:
    """Yields columns of these tables. `TABLE.COLUMN` names one column."""
    table, _, name = wanted.rpartition(".")
    for kind in (*declared(), *_SHOWN.values()):
        column = kind.described.get(name.replace(" ", "_"))
        if column is not None and table in ("", _folded(_title(kind))):
            unit = f" Unit: {column.unit}." if column.unit else ""
            text = f"{column.meaning[0].upper()}{column.meaning[1:]}.{unit}"
            yield Word(column.name, "field", text, of=_title(kind), guide=_page(kind))


def _title(kind: type[Table]) -> str:
    return kind.table_name or kind.__name__


def _page(kind: type[Table]) -> str:
    return "format" if kind.table_name and kind.table_name not in _SHOWN else "tables"


def _remedy(wanted: str, known: Sequence[Word]) -> str:
    """Suggests names that are similar to it or contain it."""
    names = {name.lower(): name for word in known for name in (word.name, *word.also)}
    near = difflib.get_close_matches(wanted, names, _NEAR, 0.6)
    near += [name for name in names if len(wanted) > 2 and wanted in name and name not in near]
    if not near:
        return "`perfprobe explain` lists all words"
    return f"near: {', '.join(names[name] for name in near[:_NEAR])}; `perfprobe explain` lists all words"
