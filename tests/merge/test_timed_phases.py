"""Phases of operators in traces without Python stacks, compared with how the traces were made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perfprobe.merge.link import link
from perfprobe.read import kineto
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase
from tests.read.test_kineto import Event, operator, span, written

STEP_US = 1000.0
STEPS = 3


def training(**facts: Any) -> list[Event]:
    """Steps of 1 ms: 200 us loader, 300 us forward with gaps, 250 us backward, 100 us optimizer.

    The loader's operators have the number of the first forward call, as in real traces: torch counts nodes.
    """
    events: list[Event] = []
    for step in range(STEPS):
        at, number = step * STEP_US, 2 * step
        calls = [("loader", 30, 150, number), ("linear", 300, 100, number), ("counter", 450, 20, number + 1)]
        calls += [("loss", 550, 50, number + 1), ("backward", 700, 240, number + 2), ("update", 960, 30, -1)]
        events += [
            span(f"ProfilerStep#{step}", at, STEP_US, "user_annotation"),
            span("enumerate(DataLoader)#_Iter.__next__", at, 200, "user_annotation"),
            span("Optimizer.step#SGD.step", at + 950, 50, "user_annotation"),
        ]
        for name, start, length, sequence in calls:
            told = {} if sequence < 0 else {"Sequence number": sequence, "Fwd thread id": 0}
            events.append(operator(f"aten::{name}", at + start, length, **told, **facts))
        events.append(operator("aten::addmm", at + 310, 80, **{"Sequence number": number, **facts}))
        for name, start, sequence in (("Loss", 700, number + 1), ("Linear", 820, number)):
            origin = {"Sequence number": sequence, "Fwd thread id": 1}
            events.append({**operator(f"{name}Backward0", at + start, 120, **origin), "tid": 8})
    return events


def phases(path: Path) -> dict[str, set[Phase]]:
    """The phases of each operator of the thread that trains."""
    trace = link(kineto.read(path))
    texts = trace.recording[Strings]
    found: dict[str, set[Phase]] = {}
    for rows in trace.operators():
        for name, phase in zip(rows.name.tolist(), rows.phase.tolist(), strict=True):
            found.setdefault(texts[name].removeprefix("aten::"), set()).add(Phase(phase))
    return found


def test_operators_have_the_phase_of_their_time(tmp_path: Path) -> None:
    found = phases(written(tmp_path / "trace.json", training()))
    assert {name: found[name] for name in ("loader", "linear", "addmm", "counter", "loss", "update")} == {
        "loader": {Phase.DATA},
        **{name: {Phase.FORWARD} for name in ("linear", "addmm", "counter", "loss")},
        "update": {Phase.OPTIMIZER},
    }
    assert found["LossBackward0"] == found["LinearBackward0"] == {Phase.BACKWARD}


def test_parts_of_the_step_are_those_of_the_trace(tmp_path: Path) -> None:
    text = Results(str(written(tmp_path / "trace.json", training()))).text(View(), width=80)
    (parts,) = (line for line in text.splitlines() if line.startswith("PARTS"))
    # Backward begins at 700 and ends at 940, forward is from 300 to 600, the rest between ranges.
    assert parts.split(maxsplit=1)[1] == "data 20 %, forward 30 %, backward 24 %, optimizer 5 %, other 21 %"


def test_stacks_decide_where_a_trace_has_them(tmp_path: Path) -> None:
    found = phases(written(tmp_path / "trace.json", training(**{"Call stack": "train.py(3): step"})))
    assert found["counter"] == {Phase.OTHER}
    assert found["loader"] == {Phase.OTHER}


def test_without_backward_there_is_no_forward(tmp_path: Path) -> None:
    events = [event for event in training() if "Backward0" not in event["name"]]
    found = phases(written(tmp_path / "trace.json", events))
    assert found["linear"] == {Phase.OTHER}
    assert found["loader"] == {Phase.DATA}
