"""`perfprobe history`: the table of successive versions of a program."""

from __future__ import annotations

import json
import os

from perfprobe.cli.options import Output, Parser, add_options
from perfprobe.cli.report import write
from perfprobe.cli.terminal import colored, width
from perfprobe.collect.own_folder import FOLDER
from perfprobe.support.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DESCRIPTION = """\
Print a table of successive versions of a program: step, samples a second, use
of the processors, memory, and the gain of each over the one before and over the
first. Lines come from `perfprobe compare --record FILE`, which keeps one a
version and is small enough to commit. Recordings are a line each. Only gains
that were measured in pairs of runs can be certain."""
_EXAMPLES = """\
examples:
  perfprobe compare --refs main,HEAD --record history.jsonl -- train.py
  perfprobe history                          files in .perfprobe
  perfprobe history history.jsonl
  perfprobe history --json a.perfprobe b.perfprobe
"""


def parser() -> Parser:
    """The options of `history`."""
    parser = Parser("history", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="FILE",
        help=f"recordings, files of lines, or folders with these (default: {FOLDER})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    add_options(parser, Output)
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Read the files. The function that is returned prints."""
    from perfprobe.experiment.history import lines_of
    from perfprobe.report.render.text import page
    from perfprobe.report.rows.history import history_rows
    from perfprobe.report.section.history import document, history_blocks

    given = parser().parse_intermixed_args(words)
    for path in given.paths:
        if not os.path.exists(path):
            raise UsageError("there is no such file", path, "name a recording, a history or a folder")
    rows = history_rows(lines_of(given.paths or [FOLDER]))
    if given.json:
        text = json.dumps(document(rows), indent=1, allow_nan=False) + "\n"
    else:
        text = page(history_blocks(rows), width=width(), color=colored(given.color))
    return lambda: write(text)
