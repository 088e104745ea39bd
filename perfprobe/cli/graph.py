"""`perfprobe graph`: draws the call graph of a recording."""

from __future__ import annotations

import os

from perfprobe.cli.options import Parser, add_options, chosen, existing, writable
from perfprobe.cli.report import collect_garbage_seldom, newest, write
from perfprobe.support.graph_view import GraphView, picture
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DESCRIPTION = """\
Draw the call graph of a recording: Python functions, the operators they call,
and their shares of the time of the steps. Operators have their measured times,
and samples divide what lies between. Each function is a box, with its operators
as a table. Operators in backward are violet and in the box of the function that
made their forward call."""
_EXAMPLES = """\
examples:
  perfprobe graph                            the newest recording here
  perfprobe graph run.perfprobe -o run.svg   also .pdf, .png, and .dot
  perfprobe graph --by run                   of the whole run, not of the steps
  perfprobe graph --by operator              by operator time, not wall time
  perfprobe graph --by gpu                   by time on GPUs
  perfprobe graph --root Attention.forward   what this calls is 100 %
  perfprobe graph --leaf 'aten::bmm'         only what calls it
  perfprobe graph --focus dropout --min-node 0.2
  perfprobe graph --library --depth 12       torch's own functions too

Patterns are regular expressions. They are searched in
`/path/file.py:12 function` and `aten::bmm bmm f32[8,4,4] f32[8,4,4] backward`.
"""


def parser() -> Parser:
    """The options of `graph`."""
    parser = Parser("graph", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.usage = "perfprobe graph [FILE] [OPTIONS]"
    parser.add(
        "file",
        nargs="?",
        metavar="FILE",
        heading="files",
        brief="a recording (default: the newest one here)",
        help="a recording (default: the newest one here), or a .pstats file",
    )
    parser.add(
        "-o",
        "--output",
        metavar="FILE",
        heading="files",
        brief="the picture: .png, .svg, .pdf or .dot",
        help="the picture: .png, .svg, .pdf, or .dot (default: a .callgraph.png beside the recording)",
    )
    add_options(parser, GraphView)
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Read the recording and draw. The function that is returned prints where the picture is."""
    from perfprobe.cli.progress import reading
    from perfprobe.results import Results

    given = parser().parse_args(words)
    collect_garbage_seldom()
    view = GraphView(**chosen(given, GraphView))
    output = None if given.output is None else writable(picture(given.output))
    path = existing(given.file) if given.file is not None else newest()
    if output is None:
        output = writable(f"{os.path.splitext(path)[0]}.callgraph.png")
    with reading([path]):
        Results(path).draw(output, view)
    return lambda: write(f"the call graph is {printable(output)}\n")
