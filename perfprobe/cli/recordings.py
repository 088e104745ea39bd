"""`perfprobe list`: the recordings here."""

from __future__ import annotations

import json
import os

from perfprobe.cli.options import Output, Parser, add_options, rows
from perfprobe.cli.report import collect_garbage_seldom, write
from perfprobe.cli.terminal import colored, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TOP = 20
_DESCRIPTION = """\
List the recordings in .perfprobe/ and in the current folder, newest first:
when each began, the command line, how long it ran, the number of its steps,
and its size with all that belongs to it (files of children and of --rotate,
measurements, pictures, exports). Other commands take the first one by default.
Ranks are listed one by one. Steps are not counted in files above 64 MiB."""
_EXAMPLES = """\
examples:
  perfprobe list
  perfprobe list --top 0                     all recordings
  perfprobe list --json | jq -r '.recordings[].recording'
"""


def parser() -> Parser:
    """The options of `list`."""
    parser = Parser("list", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument(
        "--top",
        metavar="N",
        type=rows,
        default=_TOP,
        help="number of recordings to list, 0 for all (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    add_options(parser, Output)
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Read the recordings. The function that is returned prints the table."""
    from perfprobe.cli.progress import reading
    from perfprobe.listing import Listing

    given = parser().parse_args(words)
    collect_garbage_seldom()
    listing = Listing(os.curdir, given.top)
    with reading(listing.paths):
        found = listing.rows()
    if given.json:
        made = json.dumps(listing.document(found), indent=1, allow_nan=False) + "\n"
    else:
        made = listing.text(found, width=width(), color=colored(given.color))
    return lambda: write(made)
