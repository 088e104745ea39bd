"""Compares two versions of a program by their recordings: `perfprobe compare`."""

from __future__ import annotations

from perfprobe.analyse.comparing import sides
from perfprobe.analyse.comparing.compared import KINDS
from perfprobe.analyse.comparing.compared import compared as _compared
from perfprobe.diagnose.changes import changes
from perfprobe.diagnose.gates import exit_code, gates, judged
from perfprobe.models.paired import LIMIT
from perfprobe.report.render import compared as rendered
from perfprobe.report.section.compared import LINES
from perfprobe.support.frozen import frozen
from perfprobe.tables.run_value import Measure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from perfprobe.models.compared import Comparison, GateResult
    from perfprobe.models.paired import Difference
    from perfprobe.runs import Run

__all__ = [
    "LINES",
    "Side",
    "benchmark_page",
    "compared",
    "document",
    "exit_code",
    "gates",
    "judged",
    "marked_lines",
    "page",
]


@frozen
class Side:
    """One version.

    name: as users know it. runs: its runs, whose steps are compared. recorded: others, whose rows are
    compared, if recording rows adds too much to the steps; None: the same.
    """

    name: str
    runs: Sequence[Run]
    recorded: Sequence[Run] | None = None


def compared(
    before: Side,
    after: Side,
    *,
    paired: bool | None = None,
    measure: str = "own",
    difference: Difference | None = None,
) -> Comparison:
    """Compares two versions.

    Args:
        paired: whether runs with the same number ran back to back, in random order. None: found by when they
            began; then those of a version may be in any order.
        measure: "own" (without waiting for a processor), "wall" or "cpu". If a run does not have it: "wall".
        difference: of the step, if it was decided while the runs were made.

    Raises:
        InputError: a recording cannot be read.
    """
    runs, unpaired = (before.runs, after.runs), ""
    if paired is None:
        runs, unpaired = _in_pairs(before.runs, after.runs)
    elif not paired:
        unpaired = "the runs are no pairs"
    read = [_read(side, own) for side, own in zip((before, after), runs, strict=True)]
    chosen = Measure(measure)
    if any(run.value is None or run.value.step_ns(chosen) is None for side in read for run in side.runs):
        chosen = Measure.WALL
    return _compared(read[0], read[1], unpaired=unpaired, measure=chosen, difference=difference)


def _read(side: Side, runs: Sequence[Run]) -> sides.Side:
    own = [sides.run_side(run, KINDS) for run in runs]
    others = own if side.recorded is None else [sides.run_side(run, KINDS) for run in side.recorded]
    return sides.Side(side.name, own, others)


def _in_pairs(before: Sequence[Run], after: Sequence[Run]) -> tuple[tuple[Sequence[Run], Sequence[Run]], str]:
    """The runs in the order in which they began, and why they are no pairs, if they are not."""
    as_given = before, after
    if len(before) == len(after) == 1:
        return as_given, "one run a side"
    if len(before) != len(after):
        return as_given, f"{len(before)} and {len(after)} runs are no pairs"
    begun = {id(run): run.recording.number("clock", "realtime_ns") for run in (*before, *after)}
    if None in begun.values():
        return as_given, "it is not known when the runs began"
    ordered = tuple(sorted(side, key=lambda run: begun[id(run)] or 0) for side in (before, after))
    whole = sorted([*before, *after], key=lambda run: begun[id(run)] or 0)
    firsts = {id(run) for run in before}
    in_turns = all(
        (id(a) in firsts) != (id(b) in firsts) for a, b in zip(whole[::2], whole[1::2], strict=True)
    )
    return (ordered[0], ordered[1]), "" if in_turns else "A and B did not run in turns"


def text(
    found: Comparison,
    results: Sequence[GateResult] = (),
    *,
    width: int = 200,
    color: bool = False,
    full: bool = False,
    limit: float = LIMIT,
) -> str:
    """The first screen: at most 14 lines; with `full` also all rows. limit: a change that does not matter."""
    short = changes(found, limit)
    return rendered.text(found, short, results, width=width, color=color, full=full)


def document(
    found: Comparison, results: Sequence[GateResult] = (), *, limit: float = LIMIT
) -> dict[str, Any]:
    """Everything, ready for json.dumps."""
    return rendered.document(found, changes(found, limit), results)


def markdown(found: Comparison, results: Sequence[GateResult] = (), *, limit: float = LIMIT) -> str:
    """The first screen as Markdown, for a ticket or the summary of a run of continuous integration."""
    return rendered.markdown(found, changes(found, limit), results)


def marked_lines(found: Comparison, results: Sequence[GateResult] = (), *, limit: float = LIMIT) -> list[str]:
    """What GitHub shows beside the slower lines, if a gate failed."""
    return rendered.marked_lines(changes(found, limit), results)


def benchmark_page(found: Comparison) -> list[dict[str, Any]]:
    """Figures of the later version for pages of benchmarks: `customSmallerIsBetter`."""
    return rendered.benchmark_page(found)


def page(
    found: Comparison,
    sides: Sequence[Side],
    results: Sequence[GateResult] = (),
    *,
    limit: float = LIMIT,
) -> Iterator[bytes]:
    """One HTML page, in pieces: the first screen, all rows, and the first run of each version.

    sides: the versions that were compared.
    """
    from perfprobe.report.page.compared import Version, pieces
    from perfprobe.report.section.compared_tables import full_pages
    from perfprobe.tables.python import CallStructure
    from perfprobe.tables.steps import StepTimes

    versions = []
    for side in sides:
        run = (side.recorded or side.runs)[0]
        versions.append(Version(side.name, run.find((CallStructure, StepTimes, run.spent(None)))))
    return pieces(rendered.blocks(found, changes(found, limit), results), full_pages(found), versions)
