"""`perfprobe explain`: explains a word of a report."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from perfprobe.cli.options import Parser
from perfprobe.cli.report import write
from perfprobe.cli.terminal import width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from perfprobe.words import Word

_DESCRIPTION = """\
Explain a word of a report: a column, a section, a line of the first screen, a
verdict, a loss, a field of JSON or an option. Without a word, list all words."""
_EXAMPLES = """\
examples:
  perfprobe explain self                   a column: one meaning for each table
  perfprobe explain of limit               words with blanks need no quotes
  perfprobe explain memory-bound           a verdict of `perfprobe bench`
  perfprobe explain operators.cpu_ns       a field of a table
  perfprobe explain --keep                 an option
  perfprobe explain agent                  how an agent uses perfprobe
"""
_AGENT = "agent"
_WIDEST = 100  # longer lines are hard to read
_INDENT = "    "


def parser() -> Parser:
    """The options of `explain`."""
    parser = Parser("explain", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("word", nargs="*", metavar="WORD", help="the word to explain")
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Find the word. The function that is returned prints what it means.

    Raises:
        UsageError: there is no such word.
    """
    if set(words) & {"-h", "--help"}:
        parser().parse_args(words)
    # Not read by argparse: a mark such as `-` or `<` and another command's option are words here.
    asked = " ".join(words)
    from perfprobe import words as known
    from perfprobe.cli import reference

    if asked == _AGENT:
        return lambda: write(_skill())
    others = reference.words()
    lines = _meanings(known.explained(asked, others)) if asked else _all([*known.listed(), *others])
    text = "\n".join(lines) + "\n"
    return lambda: write(text)


def _skill() -> str:
    """How an agent uses perfprobe: the file that is installed with it, without the marks of what is made."""
    text = Path(__file__).parent.with_name("SKILL.md").read_text(encoding="utf-8")
    return re.sub(r"<!-- .*? -->\n\n?", "", text)


def _meanings(found: Sequence[Word]) -> Iterator[str]:
    for at, word in enumerate(found):
        if at:
            yield ""
        of = f" of {word.of}" if word.of else ""
        others = [name for name in word.also if not word.name.endswith(f"-{name}")]
        also = f" ({', '.join(others)})" if others else ""
        yield f"{word.name}{also}: {word.kind}{of}"
        yield from _wrapped(_plain(word.text))
    guides = dict.fromkeys(word.guide for word in found if word.guide)
    if guides:
        yield ""
        yield f"More: {', '.join(f'docs/{guide}.md' for guide in guides)}"


def _all(found: Sequence[Word]) -> Iterator[str]:
    of: dict[str, list[str]] = {}
    for word in found:
        of.setdefault(f"{word.kind}{f' of {word.of}' if word.of else ''}", []).append(word.name)
    for place, names in of.items():
        yield place
        yield from _wrapped(" · ".join(names))
    yield ""
    yield "perfprobe explain WORD says what one means."


def _wrapped(text: str) -> list[str]:
    room = max(min(width(), _WIDEST), 20)
    return textwrap.wrap(
        text,
        room,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _plain(text: str) -> str:
    """The text without Markdown's emphasis. Code keeps its backquotes."""
    parts = text.split("`")
    return "`".join(part if at % 2 else part.replace("*", "") for at, part in enumerate(parts))
