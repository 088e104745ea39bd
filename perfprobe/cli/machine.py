"""`perfprobe machine`: measures the limits of this machine."""

from __future__ import annotations

import argparse
import json
import os
import re

from perfprobe.cli.options import Output, Parser, add_options, steps, writable
from perfprobe.cli.progress import Bar
from perfprobe.cli.report import write
from perfprobe.cli.terminal import colored, width
from perfprobe.collect.base import Stderr
from perfprobe.support.errors import UsageError
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perfprobe.tables.machine import Machine

_DESCRIPTION = """\
Measure the limits of this machine: the rate of matrix products, the peak of the
processor's instructions, memory bandwidth by footprint, elements per second
where arithmetic is the limit, and the cost of the smallest call. This takes
less than a minute, in fresh processes that use torch. Results are kept in
~/.cache/perfprobe until the processor, the number of processors or torch
changes."""
_EXAMPLES = """\
examples:
  perfprobe machine                          measure, or show kept results
  perfprobe machine --again                  measure once more
  perfprobe machine --plot roofline.png      also .svg, .pdf
  perfprobe machine --threads 1 4 8          instead of one and all
  perfprobe machine --device cuda:0          a GPU, timed by its own events
  perfprobe machine --json | jq '.tables.ceilings[] | select(.kind == "gemm")'

Run nothing else meanwhile: CPU time is measured, but other programs share the
caches and the memory.
"""
_PICTURES = (".png", ".svg", ".pdf")
_ENDS = ".png, .svg or .pdf"


def parser() -> Parser:
    """The options of `machine`."""
    parser = Parser("machine", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("--again", action="store_true", help="measure again, even if there are kept results")
    parser.add_argument(
        "--device", type=_device, default="cpu", metavar="NAME", help="cpu (default), or a GPU such as cuda:0"
    )
    parser.add_argument(
        "--threads",
        type=steps,
        nargs="+",
        default=(),
        metavar="N",
        help="numbers of torch's threads (default: 1 and all cores)",
    )
    parser.add_argument("--plot", metavar="FILE", help=f"draw the roofline: {_ENDS}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    add_options(parser, Output)
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Measure, or read the cached ceilings. The function that is returned prints them."""
    from perfprobe import measuring

    given = parser().parse_args(words)
    plot = None if given.plot is None else writable(roofline_file(given.plot))
    if plot is not None:
        measuring.require_matplotlib()
    machine = _machine(given)
    if plot is not None:
        measuring.draw_roofline(machine, plot)
        Stderr().tell(printable(f"the roofline is {plot}"))
    text = _text(machine, given)
    return lambda: write(text)


def _machine(given: argparse.Namespace) -> Machine:
    from perfprobe import measuring

    tell = Stderr().tell
    try:
        with Bar(f"measuring {given.device}") as bar:
            return measuring.machine(
                given.device, given.threads, again=given.again, progress=bar.show, tell=tell
            )
    except KeyboardInterrupt:
        tell("stopped; this measurement is discarded")
        raise


def roofline_file(path: str) -> str:
    """The path.

    Raises:
        UsageError: its ending is not a picture format.
    """
    if os.path.splitext(path)[1] not in _PICTURES:
        raise UsageError("unknown picture format", path, f"use a name that ends in {_ENDS}")
    return path


def _device(text: str) -> str:
    if re.fullmatch(r"cpu|cuda:\d{1,3}", text, re.ASCII) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is neither cpu nor a GPU such as cuda:0")
    return text


def _text(machine: Machine, given: argparse.Namespace) -> str:
    from perfprobe import measuring

    if given.json:
        return json.dumps(measuring.machine_document(machine), indent=1, allow_nan=False) + "\n"
    return measuring.machine_text(machine, width=width(), color=colored(given.color))
