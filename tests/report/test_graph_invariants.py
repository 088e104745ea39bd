"""Every share of the picture, of collapsed stacks and of speedscope files equals the report's."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from perfprobe.report.rows.step_rows import step_operators
from perfprobe.report.section.screen.screen import KINDS, STEP_KINDS
from perfprobe.results import Results
from perfprobe.support.errors import InputError
from perfprobe.support.graph_view import GraphView
from perfprobe.support.view import View
from perfprobe.tables.account import LeafKind
from perfprobe.tables.callgraph import CallGraph
from perfprobe.tables.python import CallStructure
from perfprobe.tables.spent import ApartKind
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace
from tests.report.test_screen_invariants import SEEDS, TRACES, Random

Key = tuple[str, str, str | None, bool]


def violations(path: Path) -> list[str]:
    """What does not hold; nothing for a recording without steps or Python."""
    results = Results(str(path))
    try:
        found, graph = results.graph(GraphView(unfolded=True))
    except InputError:
        return []
    if not graph.steps:
        return []
    shares = pictured(found.trace, graph)
    wrong = [
        f"{key}: {shares[key]:.6f} in the picture, {share:.6f} in the report"
        for key, share in reported(results).items()
        if abs(shares.pop(key, 0) - share) > 1000 / graph.whole
    ]
    wrong += [f"{key} is not in the report" for key in shares]
    drawn = (
        int(graph.functions.own.sum()) + int(graph.operators.total.sum()) + sum(graph.unplaced_ns.values())
    )
    if drawn != graph.whole + beside(graph):
        wrong.append(f"boxes have {drawn} ns, not {graph.whole} and {beside(graph)} of other threads")
    return wrong + list(_of_exports(results, graph))


def reported(results: Results) -> dict[Key, float]:
    """The shares of operators on the first screen."""
    findings = results.findings(View(), (*KINDS, *STEP_KINDS))
    shares: defaultdict[Key, float] = defaultdict(float)
    for row in step_operators(findings, slice(None)) if findings.get(StepHotspots) else []:
        key = (
            row.operator or "",
            row.overload or "",
            row.signature,
            row.ran.phase == Phase.BACKWARD.name.lower(),
        )
        shares[key] += row.share
    return shares


def pictured(trace: Trace, graph: CallGraph) -> dict[Key, float]:
    """The shares of operators in the graph, all boxes of one operator together."""
    strings, shares = trace.recording[Strings], defaultdict[Key, float](float)
    for _, name, overload, signature, is_backward, _, _, total in zip(
        *(column.tolist() for column in graph.operators.columns().values()), strict=True
    ):
        key = strings[name], strings[overload], trace.signature(signature), is_backward
        shares[key] += total / graph.whole
    return shares


def beside(graph: CallGraph) -> int:
    """The time of operators of other threads, which run at the same time."""
    return int(graph.apart.time_ns[graph.apart.kind == ApartKind.THREADS].sum())


def _of_exports(results: Results, graph: CallGraph) -> list[str]:
    whole_ns = graph.whole + beside(graph)
    speedscope = json.loads(b"".join(results.export("speedscope", None).parts))
    profiles = speedscope["profiles"]
    wrong = []
    if sum(profile["endValue"] for profile in profiles) != whole_ns:
        wrong.append(f"speedscope has {[profile['endValue'] for profile in profiles]}, not {whole_ns}")
    lines = b"".join(results.export("collapsed", None).parts).decode().splitlines()
    collapsed_us = sum(int(line.rpartition(" ")[2]) for line in lines)
    paths = sum(len(profile["samples"]) for profile in profiles)
    if not 0 <= whole_ns - collapsed_us * 1000 <= 1000 * paths:
        wrong.append(f"collapsed stacks have {collapsed_us} us, not {whole_ns} ns")
    return wrong


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_of_stored_traces(path: Path) -> None:
    assert violations(path) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_of_random_programs(seed: int, tmp_path: Path) -> None:
    path = Random(seed).made().recording(tmp_path).path
    assert violations(Path(path)) == []
    assert of_functions(path) == of_lines(path)


def of_lines(path: str) -> dict[str, Any]:
    """The share of each function in the account: of its lines."""
    rows = Results(path).document(View())["tables"]["account"]
    whole_ns = sum(row["time_ns"] for row in rows if row["kind"] != LeafKind.PROCESSOR.name.lower())
    found: Counter[str] = Counter()
    for row in rows:
        if row["line"]:
            found[row["function"]] += row["time_ns"]
    return {name: pytest.approx(time_ns / whole_ns, abs=1e-5) for name, time_ns in found.items()}


def of_functions(path: str) -> dict[str, float]:
    """The share of each function of the program in the picture: in itself, and in its operators."""
    found, graph = Results(path).graph(GraphView())
    strings, code = found.trace.recording[Strings], found[CallStructure].python.code
    names = [strings[code.function[row]] for row in graph.functions.code.tolist()]
    times_ns: Counter[str] = Counter()
    for name, own in zip(names, graph.functions.own.tolist(), strict=True):
        times_ns[name] += own
    for caller, total in zip(graph.operators.caller.tolist(), graph.operators.total.tolist(), strict=True):
        times_ns[names[caller] if caller >= 0 else ""] += total
    return {name: time_ns / graph.whole for name, time_ns in times_ns.items() if time_ns}
