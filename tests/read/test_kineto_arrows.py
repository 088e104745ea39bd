"""Forward calls of backward operators by a trace's arrows, where it has no sequence numbers."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.read import kineto
from perfprobe.tables.events import Losses
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Phase

_ENGINE = "autograd::engine::evaluate_function: "


def read(folder: Path, events: list[dict[str, Any]]) -> Recording:
    path = folder / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return kineto.read(path)


def span(name: str, start_us: float, end_us: float, tid: int = 1, **facts: Any) -> dict[str, Any]:
    reported = {"cat": "cpu_op", "name": name, "ts": start_us, "dur": end_us - start_us, "args": facts}
    return {"ph": "X", "pid": 1, "tid": tid, **reported}


def python(name: str, start_us: float, end_us: float) -> dict[str, Any]:
    return {**span(name, start_us, end_us), "cat": "python_function"}


def arrow(number: Any, begin_us: Any, end_us: Any, category: str = "fwdbwd") -> Iterator[dict[str, Any]]:
    both = {"id": number, "pid": 1, "cat": category, "name": category}
    yield {**both, "ph": "s", "ts": begin_us, "tid": 1}
    yield {**both, "ph": "f", "ts": end_us, "tid": 2, "bp": "e"}


PROGRAM = [
    python("train.py(3): forward", 0, 50),
    span("aten::linear", 10, 20),
    span("aten::addmm", 12, 18),
    python("train.py(9): other", 60, 90),
    span("aten::mul", 70, 80),
    span(f"{_ENGINE}MulBackward0", 100, 110, 2),
    span("MulBackward0", 100, 108, 2),
    span("aten::mul", 102, 106, 2),
    span(f"{_ENGINE}AddmmBackward0", 120, 150, 2),
    span("AddmmBackward0", 122, 148, 2),
    span("aten::mm", 124, 130, 2),
]


def lines(recording: Recording) -> dict[str, int]:
    """The line of the forward call of operators in backward, by name."""
    trace, strings = link(recording), recording[Strings]
    found = {}
    for rows in trace.operators():
        for name, phase, frame in zip(
            rows.name.tolist(), rows.phase.tolist(), rows.frame.tolist(), strict=True
        ):
            line = trace.line(frame)
            if phase == Phase.BACKWARD and line is not None:
                found[strings[name]] = line.line
    return found


@pytest.mark.parametrize("category", ["fwdbwd", "forward_backward"])
def test_backward_has_the_line_of_its_forward_call(category: str, tmp_path: Path) -> None:
    arrows = [*arrow(1, 12, 122, category), *arrow("2", 70, 100, category)]
    assert lines(read(tmp_path, [*PROGRAM, *arrows])) == {
        f"{_ENGINE}MulBackward0": 9,
        "MulBackward0": 9,
        "aten::mul": 9,
        f"{_ENGINE}AddmmBackward0": 3,
        "AddmmBackward0": 3,
        "aten::mm": 3,
    }


def test_gradients_that_are_added_up_have_no_forward_call(tmp_path: Path) -> None:
    """The engine's row is around the node; traces give AccumulateGrad no number."""
    node = "torch::autograd::AccumulateGrad"
    added = [span(f"{_ENGINE}{node}", 160, 190, 2), span(node, 162, 180, 2), span("aten::add_", 165, 170, 2)]
    recording = read(tmp_path, [*PROGRAM, *arrow(1, 12, 122), *added])
    rows = next(iter(link(recording).operators()))
    chosen = [recording[Strings][name] in (node, "aten::add_") for name in rows.name.tolist()]
    assert set(rows.no_line[chosen].tolist()) == {NoLine.NODE_WITHOUT_FORWARD}
    assert not any("forward lines" in reason for reason in recording[Losses].reason)


def test_sequence_numbers_are_better(tmp_path: Path) -> None:
    numbered = [
        *PROGRAM[:4],
        span("aten::mul", 70, 80, **{"Sequence number": 5, "Fwd thread id": 0}),
        *PROGRAM[5:6],
        span("MulBackward0", 100, 108, 2, **{"Sequence number": 5, "Fwd thread id": 1}),
        *PROGRAM[7:],
        *arrow(1, 12, 100),  # a wrong one
    ]
    assert lines(read(tmp_path, numbered))["MulBackward0"] == 9


@pytest.mark.parametrize(
    "arrows",
    [
        [{"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 12, "cat": "fwdbwd"}],
        [*arrow(1, 13, 122)],
        [*arrow(1, 12, "soon")],
        [*arrow([1], 12, 122)],
        [*arrow(None, 12, 122)],
        [*arrow(1, 12, 1e300)],
    ],
)
def test_arrows_that_lead_nowhere(arrows: list[dict[str, Any]], tmp_path: Path) -> None:
    recording = read(tmp_path, [*PROGRAM, *arrows])
    assert lines(recording) == {}
    assert any("forward lines" in reason for reason in recording[Losses].reason)


def nodes(recording: Recording) -> dict[int, set[int]]:
    """When each node began, and when the operators that have its number and thread did."""
    forward: dict[int, set[int]] = {}
    backward = {}
    for rows in recording.operators():
        columns = (rows.start_ns, rows.sequence, rows.forward_thread)
        for start_ns, sequence, thread in zip(*(column.tolist() for column in columns), strict=True):
            if sequence >= 0 and thread > 0:
                backward[start_ns] = sequence
            elif sequence >= 0:
                forward.setdefault(sequence, set()).add(start_ns)
    return {start_ns: forward.get(sequence, set()) for start_ns, sequence in backward.items()}


def test_arrows_name_the_forward_calls_that_sequence_numbers_do(tmp_path: Path) -> None:
    path = Path(os.environ.get("PERFPROBE_TRACES", "")) / "a100_nccl.json.gz"
    if not os.environ.get("PERFPROBE_TRACES") or not path.exists():
        pytest.skip("PERFPROBE_TRACES names no folder of traces")
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    expected = nodes(kineto.read(path))
    for event in events:
        for fact in ("Sequence number", "Fwd thread id"):
            event.get("args", {}).pop(fact, None)
    found = nodes(read(tmp_path, events))
    assert len(found) == sum(event.get("cat") == "fwdbwd" and event["ph"] == "s" for event in events) == 543
    assert all(len(calls) == 1 and calls <= expected[node] for node, calls in found.items())
