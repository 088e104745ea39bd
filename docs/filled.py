"""Fills the parts of README and guides that are made from the code, between two marks that stay in the page:

    <!-- made: words column: operators -->
    ...
    <!-- end -->

Kinds: `words KIND: OF` and `glossary` (perfprobe/models/words), `example NAME` (docs/examples), `commands`,
`options` (perfprobe/cli).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from perfprobe.cli import COMMANDS, reference
from perfprobe.models import words

EXAMPLES = Path(__file__).resolve().parent / "examples"
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


_MAKERS: dict[str, Callable[[str], str]] = {
    "words": _words,
    "glossary": _glossary,
    "example": _example,
    "commands": _commands,
    "options": _options,
}
