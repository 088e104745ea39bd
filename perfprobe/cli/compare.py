"""`perfprobe compare`: what the change did."""

from __future__ import annotations

import json
import os

from perfprobe.cli.compare_pairs import add_pair_options, check, limit_of, programs, run_pairs
from perfprobe.cli.options import Output, Parser, add_options, existing, writable
from perfprobe.cli.report import collect_garbage_seldom, files_of, write, write_file
from perfprobe.cli.terminal import colored, width
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from typing import Any

    from perfprobe.comparing import Side
    from perfprobe.experiment.pairs import Pairs
    from perfprobe.models.compared import Comparison, Gate, GateResult

_SUMMARY = "GITHUB_STEP_SUMMARY"
_FORMATS = ("text", "markdown", "github", "benchmark")
_DESCRIPTION = """\
Compare two versions of a program: is B slower than A, by how much, at which
line, and is that certain? Programs after -- run in pairs until it is certain;
--refs names two versions of one in git. A and B may also be recordings, traces
of torch.profiler, or folders of repeated runs: runs that took turns (A B B A
...) are pairs too. One run of each shows differences, but only counts are
certain: calls, launches, dtypes, shapes."""
_USAGE = """\
perfprobe compare [OPTIONS] -- A.py [ARGS] -- B.py [ARGS]
       perfprobe compare [OPTIONS] --refs A,B -- PROGRAM [ARGS]
       perfprobe compare A B [OPTIONS]"""
_EXAMPLES = """\
examples:
  perfprobe compare --refs main,HEAD -- train.py --epochs 1
  perfprobe compare -- train.py -- OMP_NUM_THREADS=1 train.py
  perfprobe compare before.perfprobe after.perfprobe
  perfprobe compare runs/main runs/mine      folders of runs that took turns
  perfprobe compare a.json.gz b.json.gz --full
  perfprobe compare A.perfprobe B.perfprobe --html change.html
  perfprobe compare --refs HEAD,WORK --fail-on 'step>3%' -- train.py
  perfprobe compare runs/main runs/mine --format markdown > comment.md

Versions run in copies of the repository, with the packages that are installed
here. The working tree, .git and the environment stay as they are.

A limit is a figure and a number: step>3%, peak_memory>5%, start_up>0.5s,
phase.data>2ms, gpu_idle>5%, calls>0, launches>0, recompiles>0; or dtype, shape:
any change. % of phase.NAME is of the step, of gpu_idle of the GPU's time.

Exit code: 5 if a change is larger than a limit and certain.
"""


def parser() -> Parser:
    """The options of `compare`."""
    parser = Parser("compare", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.usage = _USAGE
    parser.add_argument("versions", nargs="*", metavar="A B", help="recordings, traces, or folders of runs")
    for flag, named in _OPTIONS.items():
        parser.add(flag, **named)
    add_pair_options(parser)
    add_options(parser, Output)
    return parser


_OPTIONS: dict[str, dict[str, Any]] = {
    "--full": {
        "action": "store_true",
        "help": "also print all rows, phases and counts",
        "brief": "also print all rows, phases and counts",
    },
    "--measure": {
        "choices": ("own", "wall", "cpu"),
        "default": "own",
        "help": "what a step is measured by: own (default) is wall time without waiting for a processor",
        "brief": "of a step; own (default): without waiting",
    },
    "--fail-on": {
        "action": "append",
        "default": [],
        "metavar": "LIMIT",
        "help": "exit with 5 if a change is larger than this, and certain: step>3%%; may be repeated",
        "brief": "exit with 5 if a change is larger, and certain",
    },
    "--fail-on-unknown": {
        "action": "store_true",
        "help": "also exit with 5 if a limit cannot be decided",
    },
    "--format": {
        "choices": _FORMATS,
        "default": "text",
        "help": "text (default), markdown, github (marks slower lines, adds to the summary), or benchmark "
        "(customSmallerIsBetter JSON)",
        "brief": "for a comment, GitHub, or a page of benchmarks",
    },
    "--json": {"action": "store_true", "help": "print JSON instead", "brief": "print JSON instead"},
    "--html": {
        "metavar": "FILE",
        "help": "also write one HTML page: all rows, and a flame graph of what became faster and slower",
        "brief": "also write a page for the browser",
    },
}


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Read and compare the recordings. The function that is returned prints, or runs the programs."""
    from perfprobe import comparing
    from perfprobe.cli import guarded
    from perfprobe.cli.progress import reading

    options, given_programs = programs(words)
    given = parser().parse_intermixed_args(options)
    check(given, given_programs)
    collect_garbage_seldom()
    limits = comparing.gates(given.fail_on)
    if given_programs and given.versions:
        raise UsageError("recordings are not compared with programs", given.versions[0], "leave it out")
    if given_programs:
        return lambda: guarded(
            lambda: run_pairs(given, given_programs, lambda pairs: _pairs(pairs, limits, given))
        )
    if len(given.versions) != 2:
        number = len(given.versions)
        raise UsageError("two versions are needed", f"{number} given", "perfprobe compare A B")
    paths = [files_of(existing(version)) for version in given.versions]
    with reading([path for side in paths for path in side]):
        before, after = map(_side, _names(given.versions), paths)
        found = comparing.compared(before, after, measure=given.measure)
    return lambda: shown(found, comparing.judged(found, limits), given, (before, after))


def _names(versions: Sequence[str]) -> list[str]:
    """What they are called: the names of the files or folders, or all of their paths if these are equal."""
    names = [os.path.basename(os.path.normpath(version)) for version in versions]
    return names if len({*names}) == len(names) else list(versions)


def _pairs(pairs: Pairs, limits: Sequence[Gate], given: Namespace) -> int:
    """Print what pairs of runs say, and return the exit code."""
    from perfprobe import comparing
    from perfprobe.collect.base import Stderr
    from perfprobe.comparing import Side
    from perfprobe.runs import Run

    if not pairs.measured:
        return write(f"No pair was measured: {pairs.stopped}.\n")
    before, after = (
        Side(
            pairs.variants[at].name,
            [Run(pair[at].path) for pair in pairs.measured],
            [Run(pair[at].path) for pair in pairs.with_rows],
        )
        for at in (0, 1)
    )
    found = comparing.compared(
        before, after, paired=True, measure=pairs.asked.measure.value, difference=pairs.difference
    )
    status = shown(found, comparing.judged(found, limits), given, (before, after))
    if pairs.stopped and given.format == "text" and not given.json:
        write(f"Ended early: {pairs.stopped}.\n")
    elif pairs.stopped:
        Stderr().tell(f"ended early: {pairs.stopped}")
    return status


def _side(name: str, paths: Sequence[str]) -> Side:
    from perfprobe.comparing import Side
    from perfprobe.runs import Run

    return Side(name, [Run(path) for path in paths])


def shown(
    found: Comparison, results: Sequence[GateResult], given: Namespace, sides: Sequence[Side] = ()
) -> int:
    """Print the comparison as it was asked for, and return the exit code. sides: what was compared."""
    from perfprobe import comparing

    if given.html is not None and sides:
        from perfprobe.collect.base import Stderr

        path = writable(given.html)
        write_file(path, comparing.page(found, sides, results, limit=limit_of(given)))
        Stderr().tell(f"the page is {printable(path)}")
    status = write(_text(found, results, given))
    if given.format == "github" and not given.json:
        _add_to_summary(comparing.markdown(found, results, limit=limit_of(given)))
    return status or comparing.exit_code(results, fail_on_unknown=given.fail_on_unknown)


def _text(found: Comparison, results: Sequence[GateResult], given: Namespace) -> str:
    from perfprobe import comparing

    if given.json:
        document = comparing.document(found, results, limit=limit_of(given))
        return json.dumps(document, indent=1, allow_nan=False) + "\n"
    if given.format == "benchmark":
        return json.dumps(comparing.benchmark_page(found), indent=1, allow_nan=False) + "\n"
    if given.format == "markdown":
        return comparing.markdown(found, results, limit=limit_of(given))
    shape = {"width": width(), "color": colored(given.color), "full": given.full}
    screen = comparing.text(found, results, limit=limit_of(given), **shape)
    if given.format == "github":
        return (
            "".join(f"{line}\n" for line in comparing.marked_lines(found, results, limit=limit_of(given)))
            + screen
        )
    return screen


def _add_to_summary(text: str) -> None:
    """Append to the file in which GitHub Actions collects summaries, if there is one."""
    path = os.environ.get(_SUMMARY)
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        where = printable(f"{path}: {error.strerror}")
        raise EnvironmentLack("the summary cannot be written", where, f"unset {_SUMMARY}") from error
