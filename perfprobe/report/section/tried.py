"""What came of changes that were tried on a program."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Said, Table
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.tried import Applied, Outcome, Trial, Tried

_MOST_ROWS = 6
_MOST_TO_EDIT = 2
_ORDER = (Outcome.HELPS, Outcome.DIFFERS, Outcome.UNKNOWN, Outcome.SLOWER, Outcome.FAILED)

MEANINGS: dict[str, str] = {
    "try": "What was put on the program: words of `perfprobe run --try`.",
    "gain": "What it gains, and whether the program still computes the same; or why it is refused or not "
    "known.",
}


def tried_blocks(trial: Trial) -> Iterator[Block]:
    """A table of the tries, the others in a line, and the best one as a command."""
    if not trial.step_ns:
        yield Paragraph(f"Nothing was measured: {trial.stopped}.", "yellow")
        return
    step = "a step" if trial.by_steps else "a run"
    runs = f"{trial.runs} runs in {units.duration(trial.time_s * 1e9)}"
    steps = f", {trial.steps} steps a run" if trial.by_steps else ""
    yield Heading(f"{units.duration(trial.step_ns)} {step}", f"{trial.program}{steps}; {runs}")
    yield Paragraph(f"The program {trial.itself}.")
    rows, others = _shown(trial)
    if rows:
        yield Table(_columns(rows))
    for line in others:
        yield Paragraph(line, "dim")
    yield from _best(trial)
    yield from _to_edit(trial)
    if trial.stopped:
        yield Paragraph(f"Ended early: {trial.stopped}.", "yellow")


def _columns(rows: list[Tried]) -> list[Column]:
    styles = [_style(each) for each in rows]
    return [
        Column("try", [each.name for each in rows], least=30),
        Column("gain", [printable(came_of(each)) for each in rows], styles=styles, least=40),
    ]


def _shown(trial: Trial) -> tuple[list[Tried], list[str]]:
    """The rows of the table, and sentences that name the others."""
    found = [each for outcome in _ORDER for each in trial.tried if each.outcome is outcome]
    where = f" in {trial.steps:,} steps" if trial.by_steps else ""
    named = {
        "Did not help either": [each.name for each in found[_MOST_ROWS:]],
        "No gain": [each.name for each in trial.tried if each.outcome is Outcome.SAME],
        f"Not tried, as never applied{where}": [
            each.name for each in trial.tried if each.outcome is Outcome.NOT_TRIED
        ],
    }
    return found[:_MOST_ROWS], [f"{what}: {', '.join(names)}." for what, names in named.items() if names]


def came_of(one: Tried) -> str:
    """What came of it, in a few words."""
    if one.outcome is Outcome.FAILED:
        return f"failed: {one.why}"
    if one.outcome is Outcome.DIFFERS:
        return f"refused: {one.result}"
    if one.outcome is Outcome.SLOWER:
        return f"refused: slower, {gain(one)}"
    if one.outcome is Outcome.HELPS:
        return f"{gain(one)}; {one.result}"
    figures = gain(one)
    return f"{one.outcome.value}: {figures}" if figures else one.outcome.value


def gain(one: Tried) -> str:
    """The gain with its interval and the number of pairs; "" without one."""
    if one.gain is None:
        return ""
    between = "" if one.low is None else f" ({units.hundredths(one.low)} to {units.hundredths(one.high)})"
    return f"{units.hundredths(one.gain)}x{between}, {one.pairs} pair{'' if one.pairs == 1 else 's'}"


def _style(one: Tried) -> str:
    return {Outcome.HELPS: "bold", Outcome.DIFFERS: "red", Outcome.SLOWER: "red"}.get(one.outcome, "")


def _best(trial: Trial) -> Iterator[Block]:
    best = trial.best
    if best is None:
        yield Paragraph("Nothing helped for certain.")
        return
    if trial.stack is not None and len(best.words) > 1:
        yield Paragraph(f"Together {came_of(best)}.", "bold")
    for word in trial.dropped:
        yield Paragraph(f"{word} no longer helped beside the others.", "dim")
    yield Said("RUN", [command(trial, best)], whole=True)
    for applied in best.applied:
        yield Said("CHANGE", [printable(change(applied))])


def _to_edit(trial: Trial) -> Iterator[Block]:
    """What is proposed, and cannot be tried without editing the program."""
    found = [each for each in trial.proposed if not each.tries][:_MOST_TO_EDIT]
    for each in found:
        gain = "" if each.gain is None else f"at most {units.hundredths(each.gain)}x"
        yield Said(
            "EDIT", [printable(": ".join(filter(None, (each.place, each.what)))), *filter(None, [gain])]
        )


def command(trial: Trial, one: Tried) -> str:
    """The command line that runs the program with it."""
    return f"perfprobe run {' '.join(f'--try {word}' for word in one.words)} {trial.program}"


def change(applied: Applied) -> str:
    """What to write in the source, and where."""
    return f"{applied.place}: {applied.code}" if applied.place else applied.code
