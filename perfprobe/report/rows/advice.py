"""Rows of what to change, and of the rules that cannot tell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from perfprobe.models.rules import RULES
from perfprobe.report.rows.row import place
from perfprobe.support.frozen import frozen
from perfprobe.tables.advice import Advice, Change
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import Line


@frozen(kw_only=True)
class ChangeRow:
    """A change that a rule proposes, most share first.

    id: the rule and the line: the same in each recording of a program. what: in a few words. share: of the
    steps, what it can save at most. gain: how much faster the steps would be then, with its interval: from
    1 on where the share is only a bound. got: how that is known.
    check: how its result is checked. tries: words with which `perfprobe advise` tries it, none where the
    program has to be edited. try_command: the last of them as a command. snippet: the changed code. caution:
    what to look at. is_best: whether the first screen proposes it.
    """

    id: str
    rule: str
    what: str
    line: Line | None = place()
    share: float
    gain: float | None
    gain_low: float
    gain_high: float | None
    got: str
    check: str
    tries: Sequence[str]
    try_command: str | None
    snippet: str
    caution: str
    is_best: bool


@frozen(kw_only=True)
class UntoldRow:
    """A rule without its data. needs: what would give it."""

    rule: str
    needs: str


def change_rows(findings: Findings) -> list[ChangeRow]:
    """All changes, most share first."""
    found = findings.get(Advice)
    return [] if found is None else [_row(findings, each, each is found.best) for each in found.changes]


def untold_rows(findings: Findings) -> list[UntoldRow]:
    """The rules that cannot tell."""
    found = findings.get(Advice)
    return [] if found is None else [UntoldRow(rule=each.rule, needs=each.needs) for each in found.untold]


def best_row(findings: Findings) -> ChangeRow | None:
    """The change to make first."""
    return next((row for row in change_rows(findings) if row.is_best), None)


def is_best(findings: Findings, rule: str) -> bool:
    """Whether the first screen proposes the change of this rule."""
    found = findings.get(Advice)
    return found is not None and found.best is not None and found.best.rule == rule


def _row(findings: Findings, each: Change, best: bool) -> ChangeRow:
    line = each.line or findings.trace.line(each.frame)
    at = "" if line is None else f"@{line.file}:{line.line}"
    return ChangeRow(
        id=f"{each.rule}{at}",
        rule=each.rule,
        what=each.what,
        line=line,
        share=each.share,
        gain=_gain(each.share),
        gain_low=_gain(each.least) or 1.0,
        gain_high=_gain(each.share if each.most < 0 else each.most),
        got=each.got.value,
        check=each.check.value,
        tries=each.tries,
        try_command=_command(findings, each),
        snippet=each.snippet,
        caution=RULES[each.rule].caution,
        is_best=best,
    )


def _gain(share: float) -> float | None:
    """How many times as fast steps are without this share; None for all."""
    return 1 / (1 - share) if share < 1 else None


def _command(findings: Findings, each: Change) -> str | None:
    """The command that tries it; None where the program is not known, or has to be edited."""
    recording = findings.trace.recording
    argv, module = recording.texts("program", "argv"), recording.text("program", "module")
    if not each.tries or not argv or recording.is_trace:
        return None
    program = ["-m", module, *argv[1:]] if module is not None else argv
    return shlex.join(["perfprobe", "advise", "--try", each.tries[-1], *program])
