"""`perfprobe compare`: what the change did."""

from __future__ import annotations

import json
import os

from perfprobe.cli.options import Output, Parser, add_options, existing
from perfprobe.cli.report import collect_garbage_seldom, files_of, write
from perfprobe.cli.terminal import colored, width
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from perfprobe.comparing import Side
    from perfprobe.models.compared import Comparison, GateResult

_SUMMARY = "GITHUB_STEP_SUMMARY"
_FORMATS = ("text", "markdown", "github", "benchmark")
_DESCRIPTION = """\
Compare two versions of a program: is B slower than A, by how much, at which
line, and is that certain? Each is a recording, a trace of torch.profiler, or a
folder of repeated runs. Runs that took turns (A B B A ...) are pairs: five show
how certain a difference of the step is. One run of each shows differences, but
only counts are certain: calls, launches, dtypes, shapes."""
_EXAMPLES = """\
examples:
  perfprobe compare before.perfprobe after.perfprobe
  perfprobe compare runs/main runs/mine      folders of runs that took turns
  perfprobe compare runs/main runs/mine --fail-on 'step>3%' --fail-on 'calls>0'
  perfprobe compare runs/main runs/mine --format markdown > comment.md

A limit is a figure and a number: step>3%, peak_memory>5%, start_up>0.5s,
phase.data>2ms, gpu_idle>5%, calls>0, launches>0, recompiles>0; or dtype, shape:
any change. % of phase.NAME is of the step, of gpu_idle of the GPU's time.

Exit code: 5 if a change is larger than a limit and certain.
"""


def parser() -> Parser:
    """The options of `compare`."""
    parser = Parser("compare", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.usage = "perfprobe compare A B [OPTIONS]"
    parser.add_argument("versions", nargs="*", metavar="A B", help="recordings, traces, or folders of runs")
    parser.add_argument("--full", action="store_true", help="also print all rows, phases and counts")
    parser.add_argument(
        "--measure",
        choices=("own", "wall", "cpu"),
        default="own",
        help="what a step is measured by: own (default) is wall time without waiting for a processor",
    )
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="LIMIT",
        help="exit with 5 if a change is larger than this, and certain: step>3%%; may be repeated",
    )
    parser.add_argument(
        "--fail-on-unknown", action="store_true", help="also exit with 5 if a limit cannot be decided"
    )
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        default="text",
        help="text (default), markdown, github (marks slower lines, adds to the summary), or benchmark "
        "(customSmallerIsBetter JSON)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead")
    add_options(parser, Output)
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Read and compare the recordings. The function that is returned prints."""
    from perfprobe import comparing
    from perfprobe.cli.progress import reading

    given = parser().parse_intermixed_args(words)
    collect_garbage_seldom()
    limits = comparing.gates(given.fail_on)
    if len(given.versions) != 2:
        number = len(given.versions)
        raise UsageError("two versions are needed", f"{number} given", "perfprobe compare A B")
    paths = [files_of(existing(version)) for version in given.versions]
    with reading([path for side in paths for path in side]):
        before, after = map(_side, _names(given.versions), paths)
        found = comparing.compared(before, after, measure=given.measure)
    return lambda: shown(found, comparing.judged(found, limits), given)


def _names(versions: Sequence[str]) -> list[str]:
    """What they are called: the names of the files or folders, or all of their paths if these are equal."""
    names = [os.path.basename(os.path.normpath(version)) for version in versions]
    return names if len({*names}) == len(names) else list(versions)


def _side(name: str, paths: Sequence[str]) -> Side:
    from perfprobe.comparing import Side
    from perfprobe.runs import Run

    return Side(name, [Run(path) for path in paths])


def shown(found: Comparison, results: Sequence[GateResult], given: Namespace) -> int:
    """Print the comparison as it was asked for, and return the exit code."""
    from perfprobe import comparing

    status = write(_text(found, results, given))
    if given.format == "github" and not given.json:
        _add_to_summary(comparing.markdown(found, results))
    return status or comparing.exit_code(results, fail_on_unknown=given.fail_on_unknown)


def _text(found: Comparison, results: Sequence[GateResult], given: Namespace) -> str:
    from perfprobe import comparing

    if given.json:
        return json.dumps(comparing.document(found, results), indent=1, allow_nan=False) + "\n"
    if given.format == "benchmark":
        return json.dumps(comparing.benchmark_page(found), indent=1, allow_nan=False) + "\n"
    if given.format == "markdown":
        return comparing.markdown(found, results)
    screen = comparing.text(found, results, width=width(), color=colored(given.color), full=given.full)
    if given.format == "github":
        return "".join(f"{line}\n" for line in comparing.marked_lines(found, results)) + screen
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
