"""`perfprobe advise`: what to change, tried on the program itself."""

from __future__ import annotations

import json
import os
import sys

from perfprobe.cli.compare_pairs import pairs_of
from perfprobe.cli.options import PROGRAM_OPTIONS, Output, Parser, add_options, seconds
from perfprobe.cli.progress import Bar
from perfprobe.cli.report import collect_garbage_seldom, write
from perfprobe.cli.terminal import colored, width
from perfprobe.support import units
from perfprobe.support.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Any

    from perfprobe.advising import Plan

TIME_S = 600.0
_MOST_TRIES = 8  # of what a recording proposes
_DESCRIPTION = """\
Try changes on a program without editing it, and say what each gains: the
unchanged program and each change run in turns, back to back, until it is known.
What the program computes is compared, too: a change that is faster and computes
something else is refused. Each run is in a new copy of the current folder."""
_USAGE = "perfprobe advise [OPTIONS] script.py | -m MODULE | -c CODE [ARGS]"
_EXAMPLES = """\
examples:
  perfprobe advise train.py --epochs 1          what a recording proposes
  perfprobe advise --try fused --try workers=2 train.py
  perfprobe advise --try workers=2+prefetch=4 train.py      both together
  perfprobe advise --auto --time 30m train.py       what helped, put together
  perfprobe advise --yes --fail-on 'gain>10%' train.py
  perfprobe run --try fused train.py         one run with a change, recorded

`perfprobe explain tries` and docs/advise.md say what each change does.
Exit code: 5 if --fail-on names a smaller gain than one that was found.
"""
_OPTIONS: dict[str, dict[str, Any]] = {
    "--try": {
        "action": "append",
        "default": [],
        "dest": "tries",
        "metavar": "WORD",
        "help": "try this, such as workers=2 or fused (default: what a recording proposes); may be "
        "repeated; a+b: together",
    },
    "--auto": {
        "action": "store_true",
        "help": "then put together what helped, measure that beside the original, and drop what no longer "
        "helps",
    },
    "--time": {
        "metavar": "TIME",
        "type": seconds,
        "default": TIME_S,
        "help": "begin no round that would end after this time (default: 10m; 0 for no limit)",
    },
    "--pairs": {
        "metavar": "N",
        "type": pairs_of,
        "dest": "most_pairs",
        "help": "run at most so many pairs of each, 5 to 12 (default: 12); fewer if they are enough",
    },
    "--link": {
        "metavar": "PATH",
        "action": "append",
        "default": [],
        "help": "data in the folder that the program only reads: copies have a link to it",
    },
    "--yes": {"action": "store_true", "help": "do not ask before the program is run"},
    "--fail-on": {
        "metavar": "LIMIT",
        "help": "exit with 5 if a change certainly gains more than this and computes the same: gain>10%%",
    },
    "--json": {"action": "store_true", "help": "print JSON instead of text"},
}


def parser() -> Parser:
    """The options of `advise`."""
    parser = Parser("advise", usage=_USAGE, description=_DESCRIPTION, epilog=_EXAMPLES)
    for flag, named in _OPTIONS.items():
        parser.add(flag, **named)
    add_options(parser, Output)
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Look at the program and its folder. The function that is returned asks, and runs it."""
    from perfprobe import advising
    from perfprobe.cli import guarded

    options = parser()
    place = options.split(words, PROGRAM_OPTIONS)
    given = options.parse_args(list(words[:place]))
    program = list(words[place:])
    program = program[1:] if program[:1] == ["--"] else program
    if not program:
        raise UsageError("there is no program to run", "", "perfprobe advise train.py")
    limit = advising.gate(given.fail_on)
    plan = advising.plan(
        program,
        given.tries,
        links=given.link,
        is_auto=given.auto,
        time_s=given.time or None,
        **({"most": given.most_pairs} if given.most_pairs else {}),
    )
    collect_garbage_seldom()
    return lambda: guarded(lambda: _advise(plan, given, limit))


def _advise(plan: Plan, given: argparse.Namespace, limit: float | None) -> int:
    from perfprobe import advising

    if not given.yes and not _agreed(plan):
        return 0
    with Bar("running") as bar:
        found = advising.tried(plan, bar.show)
    if given.json:
        status = write(json.dumps(advising.document(found), indent=1, allow_nan=False) + "\n")
    else:
        status = write(advising.text(found, width=width(), color=colored(given.color)))
    return found.exit_code or status or advising.exit_code(found, limit)


def _agreed(plan: Plan) -> bool:
    """Whether the user lets the program run."""
    tries = len(plan.tries) or _MOST_TRIES
    runs = f"{plan.program.shown} runs up to {3 + tries + (plan.most * (1 + tries)):,} times"
    time = "" if plan.time_s is None else f", for about {units.duration(plan.time_s * 1e9)}"
    where = f"each in a copy of this folder ({units.size(plan.source.size_bytes)})"
    if not os.isatty(0):
        raise UsageError(f"{runs}{time}, {where}", "", "say that it may: --yes")
    sys.stderr.write(f"{runs}{time}, {where}.\nWhat it writes elsewhere stays. Go on? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
