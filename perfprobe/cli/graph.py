"""`perfprobe graph`: draws the call graph of a recording."""

from __future__ import annotations

import os

from perfprobe.cli.options import Parser, steps, writable
from perfprobe.cli.report import newest, write
from perfprobe.support.graph_view import PATTERNS, WEIGHTS, GraphView, picture
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DESCRIPTION = """\
Draw the call graph of a recording: Python functions and, below them, the
operators they call, with their shares of all time. Backward operators hang
under the function that made their forward call, in a hue of their own."""
_EXAMPLES = """\
examples:
  perfprobe graph                            the newest recording in this folder
  perfprobe graph run.perfprobe -o run.svg   also .pdf, .png, and .dot
  perfprobe graph --by operator              by operator time, not wall time
  perfprobe graph --by gpu                   by what operators took of GPUs
  perfprobe graph --root Attention.forward   only what this calls
  perfprobe graph --leaf 'aten::bmm'         only what leads there
  perfprobe graph --focus dropout --min-node 0.2
  perfprobe graph --library --depth 12       torch's own functions too

Patterns are regular expressions, looked for in `/path/file.py:12 function` and
in `aten::bmm bmm f32[8,4,4] f32[8,4,4] backward`.
"""


def parser() -> Parser:
    """The options of `graph`."""
    parser = Parser("graph", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a recording (default: the newest one here), or a .pstats file",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the picture: .png, .svg, .pdf, or .dot (default: a .callgraph.png beside the recording)",
    )
    parser.add_argument(
        "--by",
        choices=WEIGHTS,
        help="what shares are of: wall time (default where it was sampled), operator time, operator calls, "
        "or time on GPUs",
    )
    parser.add_argument(
        "--min-node",
        type=float,
        metavar="PERCENT",
        help="leave out nodes of less than this share (default: as many as stay legible)",
    )
    parser.add_argument(
        "--min-edge",
        type=float,
        metavar="PERCENT",
        help="the same for edges (default: a fifth of that for nodes)",
    )
    parser.add_argument("--root", metavar="REGEX", help="only what matching functions call")
    parser.add_argument("--leaf", metavar="REGEX", help="only what leads to matching functions or operators")
    parser.add_argument("--focus", metavar="REGEX", help="only paths through what matches")
    parser.add_argument("--depth", type=steps, metavar="N", help="follow N calls from the root")
    parser.add_argument(
        "--library",
        dest="unfolded",
        action="store_true",
        help="also functions of libraries that only pass on",
    )
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Read the recording and draw; the call that is returned says where the picture is."""
    from perfprobe.results import Results

    given = parser().parse_args(words)
    view = GraphView(
        given.by,
        min_node=given.min_node,
        min_edge=given.min_edge,
        patterns={name: text for name in PATTERNS if (text := getattr(given, name)) is not None},
        depth=given.depth,
        unfolded=given.unfolded,
    )
    output = None if given.output is None else writable(picture(given.output))
    path = given.file if given.file is not None else newest()
    if output is None:
        output = writable(f"{os.path.splitext(path)[0]}.callgraph.png")
    Results(path).draw(output, view)
    return lambda: write(f"the call graph is {printable(output)}\n")
