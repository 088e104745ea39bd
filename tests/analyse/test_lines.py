import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.tables.findings import HotLines
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Phase, Trace
from tests.build import Program, op
from tests.found import find

ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
PHASES = ("other_ns", "forward_ns", "backward_ns", "recompute_ns")  # in the order of `Phase`


def run(recording: Recording) -> tuple[Trace, HotLines]:
    trace = link(recording)
    return trace, find(trace, HotLines)[HotLines]


def rows(trace: Trace, found: HotLines) -> list[dict[str, Any]]:
    made = []
    for at in range(len(found)):
        row = {name: column[at].item() for name, column in found.columns().items()}
        line = trace.line(row["frame"])
        made.append({**row, "place": f"{line.file}:{line.line}" if line else None})
    return made


def test_by_hand(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    model = program.module("", "Net")
    small, large = program.signature("f32[2]"), program.signature("f32[9]")
    forward = program.stack(("a.py:5 f", model))
    same_line = program.stack(("a.py:5 <lambda>", model))
    engine = program.stack("a.py:9 main", ENGINE)
    program.run(
        op("linear", 0, 100, op("mm", 10, 90, stack=forward, signature=large), stack=forward, sequence=0),
        op("mm", 100, 130, stack=same_line, signature=small),
        op("load", 200, 260, stack=program.stack("a.py:9 main")),
        op("back", 300, 350, stack=engine, node_sequence=0, node_thread=1),
        op("add_", 400, 407, stack=engine, node_sequence=-1, node_thread=1),
        op("step", 0, 500, scope=7, stack=forward),
        op("pool", 500, 501),
    )
    trace, found = run(program.recording(tmp_path))
    strings = trace.recording[Strings]
    brief = [
        (row["place"], row["no_line"], row["calls"], row["self_ns"], *(row[name] for name in PHASES))
        for row in rows(trace, found)
    ]
    assert brief == [
        ("a.py:5", NoLine.NONE, 4, 180, 0, 130, 50, 0),
        ("a.py:9", NoLine.NONE, 1, 60, 60, 0, 0, 0),
        (None, NoLine.NODE_WITHOUT_FORWARD, 1, 7, 0, 0, 7, 0),
        (None, NoLine.NO_PYTHON, 1, 1, 1, 0, 0, 0),
    ]
    hottest = [(strings[row["name"]], trace.signature(row["signature"])) for row in rows(trace, found)]
    assert hottest == [("mm", "f32[9]"), ("load", None), ("add_", None), ("pool", None)]


def test_without_operators_there_are_no_lines(tmp_path: Path) -> None:
    _, found = run(Program().recording(tmp_path))
    assert len(found) == 0


@pytest.mark.parametrize("seed", range(4))
def test_sums_equal_those_over_single_operators(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    program = Program()
    program.thread(1)
    places = [f"{rng.choice('ab')}.py:{rng.randrange(1, 9)} {rng.choice('fg')}" for _ in range(12)]
    stacks = [-1, *(program.stack(place) for place in places)]
    signatures = [-1, program.signature("f32[1]"), program.signature("f32[2]")]
    start_ns = 0
    for _ in range(400):
        length = rng.randrange(20, 50)  # none is much longer than the others
        node = {"node_sequence": -1, "node_thread": 1} if rng.random() < 0.2 else {}
        fields = {"stack": rng.choice(stacks), "signature": rng.choice(signatures), **node}
        program.run(op(rng.choice("xyz"), start_ns, start_ns + length, **fields))
        start_ns += length
    trace, found = run(program.recording(tmp_path, 50))
    expected: dict[Any, list[int]] = defaultdict(lambda: [0] * 6)
    for batch in trace.operators():
        for at in range(len(batch)):
            line = trace.line(int(batch.frame[at]))
            sums = expected[f"{line.file}:{line.line}" if line else None, int(batch.no_line[at])]
            sums[0] += 1
            sums[1] += int(batch.self_ns[at])
            sums[2 + Phase(batch.phase[at])] += int(batch.self_ns[at])
    made = {
        (row["place"], row["no_line"]): [row["calls"], row["self_ns"], *(row[name] for name in PHASES)]
        for row in rows(trace, found)
    }
    assert made == expected
    assert found.self_ns.tolist() == sorted(found.self_ns.tolist(), reverse=True)
