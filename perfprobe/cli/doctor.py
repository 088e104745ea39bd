"""`perfprobe doctor`: which parts work on this machine, and how to fix the others."""

from __future__ import annotations

import json

from perfprobe.cli.options import Output, Parser, add_options
from perfprobe.cli.report import write
from perfprobe.cli.terminal import colored, width
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DESCRIPTION = """\
Check which parts of perfprobe work on this machine. For each that does not, the
reason and the command that fixes it are printed. The last check records a small
program and reads the recording. Nothing is installed or changed."""
_EXAMPLES = """\
examples:
  perfprobe doctor                         in the environment of your program
  perfprobe doctor --json | jq '.parts[] | select(.state == "lack")'

Exit code: 0 if operators can be recorded here, otherwise 4.
"""


def parser() -> Parser:
    """The options of `doctor`."""
    parser = Parser("doctor", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    add_options(parser, Output)
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Check everything. The function that is returned prints the result."""
    given = parser().parse_args(words)
    from perfprobe.doctor import examine, text

    parts = examine.examine(width(), color=colored(given.color))
    if given.json:
        made = json.dumps(examine.document(parts), indent=1) + "\n"
    else:
        made = text.render(parts, width=width(), color=colored(given.color))
    return lambda: write(made) or (0 if examine.works(parts) else EnvironmentLack.exit_code)
