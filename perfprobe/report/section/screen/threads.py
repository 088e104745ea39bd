"""SLOW for more threads than processors."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from typing import Any

from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.rows.teams import ThreadProblemRow, problem_rows, threads_set_to
from perfprobe.support import units
from perfprobe.tables.diagnoses import Crowd
from perfprobe.tables.findings import Findings


def thread_lines(findings: Findings, crowd: Crowd, facts: dict[str, Any]) -> Iterator[ScreenRow]:
    """How many threads there are, how much they waited, and what to set."""
    problem = _problem(findings, crowd)
    kind = "oversubscription" if problem is None else problem.problem
    yield said("SLOW", f"{kind}: {crowd_text(findings, crowd)}", style="bold", **facts)
    allowed = max(floor(crowd.allowed), 1)
    remedy = threads_set_to(findings, allowed) if problem is None else problem.remedy
    yield said(
        "", f"threads waited {units.tenths(crowd.waited)} s for a core for each s of CPU time", f"; {remedy}"
    )


def crowd_text(findings: Findings, crowd: Crowd) -> str:
    """`32 torch threads on 2 allowed cores`."""
    problem = _problem(findings, crowd)
    if problem is not None:
        return problem.what
    allowed = f"{units.plain(crowd.allowed)} allowed core{'' if crowd.allowed == 1 else 's'}"
    return f"{crowd.torch} torch threads on {allowed}"


def _problem(findings: Findings, crowd: Crowd) -> ThreadProblemRow | None:
    if crowd.problem is None:
        return None
    return next((row for row in problem_rows(findings) if row.problem == crowd.problem), None)
