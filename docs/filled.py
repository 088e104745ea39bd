"""Fills the parts of README and guides that are made from the code, between two marks that stay in the page:

    <!-- made: words column: operators -->
    ...
    <!-- end -->

Kinds: `words KIND: OF` and `glossary` (perfprobe/words), `example NAME` (docs/examples), `commands`,
`options` (perfprobe/cli), `brief` (perfprobe/report/render/brief_json.py), `tried KIND`
(benchmarks/versions).
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import get_type_hints

from benchmarks.versions import results
from perfprobe import words
from perfprobe.cli import COMMANDS, reference
from perfprobe.report.rows import modules
from perfprobe.report.rows.advice import ChangeRow, UntoldRow
from perfprobe.report.rows.baseline import BaselineRow
from perfprobe.report.rows.benchmark import BenchmarkRow, MeasureRow
from perfprobe.report.rows.device import DeviceRow
from perfprobe.report.rows.diagnosed import AccountRow, DiagnosisRow
from perfprobe.report.rows.functions import BY_PHASE, FunctionRow
from perfprobe.report.rows.lines import LineRow
from perfprobe.report.rows.operators import RECORDED, OperatorRow
from perfprobe.report.rows.screen import ScreenRow
from perfprobe.report.rows.steps import LoopRow
from perfprobe.report.rows.totals import TotalsRow

EXAMPLES = Path(__file__).resolve().parent / "examples"
# The rows of the tables in the short JSON document.
BRIEF: dict[str, type] = {
    "first_screen": ScreenRow,
    "diagnoses": DiagnosisRow,
    "advice": ChangeRow,
    "advice_unknown": UntoldRow,
    "loops": LoopRow,
    "benchmark": BenchmarkRow,
    "benchmark_measures": MeasureRow,
    "baseline": BaselineRow,
    "totals": TotalsRow,
    "account": AccountRow,
    "gpu_account": DeviceRow,
    "hotspots": OperatorRow,
    "lines": LineRow,
    "modules": modules.ModuleRow,
    "functions": FunctionRow,
}
_COLUMNS = {"figures": modules.FIGURES, "recorded": RECORDED, "by_phase": BY_PHASE}  # of fields with several
_FIELD = re.compile(r"(?:^|(?<=[.;]) )(?=[a-z_0-9]+(?:, [a-z_0-9]+)*: )")
_PART = re.compile(r"(<!-- made: (\w+) ?([^>]*) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """The page with each such part as it is made now.

    Raises:
        KeyError: a part of a kind that does not exist, or of words that do not.
    """
    return _PART.sub(lambda part: f"{part[1]}\n{_MAKERS[part[2]](part[3])}\n\n{part[5]}", text)


def _words(asked: str) -> str:
    kind, _, of = asked.partition(": ")
    found = [word for word in words.by_kind()[kind] if word.of == of]
    if not found:
        raise KeyError(asked)
    return _table("word" if kind == "term" else kind.partition(" ")[0], found)


def _table(title: str, found: Sequence[words.Word]) -> str:
    rows = [(f"**{_escaped(word.name)}**", _escaped(word.text)) for word in found]
    return "\n".join(
        [f"| {title} | meaning |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)]
    )


def _escaped(text: str) -> str:
    """What Markdown takes for a mark, in a cell."""
    outside = text.split("`")
    for at in range(0, len(outside), 2):
        outside[at] = re.sub(r"([<~])", r"\\\1", outside[at])
    return "`".join(outside).replace("|", "\\|")


def _glossary(_: str) -> str:
    """Every word of the report; a table for the columns of each section. Those of JSON have a page."""
    return "\n\n".join(_of_kinds())


def _of_kinds() -> Iterator[str]:
    of_reports = {kind: found for kind, found in words.by_kind().items() if not kind.endswith("JSON")}
    for kind, found in of_reports.items():
        yield f"## {_GLOSSARY_TITLES.get(kind, f'{kind.capitalize()}s')}"
        for of in dict.fromkeys(word.of for word in found):
            if of:
                yield f"### {kind.capitalize()}s of {of}"
            yield _table(kind.partition(" ")[0], [word for word in found if word.of == of])


_GLOSSARY_TITLES = {
    "line of the first screen": "Lines of the first screen",
    "modifier of a verdict": "Modifiers of verdicts",
    "source of losses": "Sources of losses",
    "loss": "Losses",
}


def _example(name: str) -> str:
    text = (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
    return f"```text\n{text}\n```"


def _commands(_: str) -> str:
    rows = (f"| `perfprobe {name}` | {summary} |" for name, (_, summary) in COMMANDS.items())
    return "\n".join(["| command | does |", "|---|---|", *rows])


def _options(_: str) -> str:
    return reference.markdown().rstrip("\n")


def _brief(_: str) -> str:
    """The tables of the short JSON document, each with its meaning and the fields of its rows."""
    return "\n\n".join(_brief_table(name, kind) for name, kind in BRIEF.items())


def _brief_table(name: str, kind: type) -> str:
    found = list(fields_of(kind))
    said = " ".join(sentence for each in _kinds(kind) for sentence in _sentences(each, found))
    fields = ", ".join(f"`{field}`" for field in found)
    return "\n".join(filter(None, [f"**{name}**: {words.TABLES[name]}", said, f"Fields: {fields}."]))


def _kinds(kind: type) -> Iterator[type]:
    """The class of a row, and those of rows that are merged into it."""
    yield kind
    kinds = get_type_hints(kind)
    inline = (field.name for field in dataclasses.fields(kind) if "inline" in field.metadata)
    yield from (kinds[name] for name in inline if dataclasses.is_dataclass(kinds[name]))


def _sentences(kind: type, names: Sequence[str]) -> Iterator[str]:
    """What its docstring says of these fields, behind their names."""
    said = " ".join((inspect.getdoc(kind) or "").split())
    for sentence in _FIELD.split(said)[1:]:
        if set(sentence.partition(":")[0].split(", ")) & {*names, "line"}:
            yield f"{sentence.rstrip('.;')}."


def fields_of(kind: type) -> Iterator[str]:
    """The fields of a row in the short document."""
    kinds = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if "spread" in field.metadata:
            yield from (name for name, _ in field.metadata["spread"])
        elif "inline" in field.metadata:
            is_row = dataclasses.is_dataclass(kinds[field.name])
            yield from fields_of(kinds[field.name]) if is_row else _COLUMNS[field.name]
        elif "unwritten" not in field.metadata and "Sequence" not in str(kinds[field.name]):
            yield field.name


def _tried(kind: str) -> str:
    """What was tried: torches."""
    return results.of_torches(results.rows(kind))


_MAKERS: dict[str, Callable[[str], str]] = {
    "words": _words,
    "glossary": _glossary,
    "example": _example,
    "commands": _commands,
    "options": _options,
    "brief": _brief,
    "tried": _tried,
}
