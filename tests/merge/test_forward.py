from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase
from tests.build import Program, op

MAIN, APPLY, FORWARD, DEEPER, SETUP = (f"a.py:{line} f" for line in range(1, 6))


def phases(folder: Path, program: Program, block_rows: int = 100) -> dict[str, str]:
    trace = link(program.recording(folder, block_rows))
    rows = LinkedOperators.concat(list(trace.operators()))
    names = [trace.recording[Strings][int(name)] for name in rows.name]
    return dict(zip(names, [Phase(phase).name for phase in rows.phase.tolist()], strict=True))


def program_with(scope: int = 0, number: int = 3) -> Program:
    """An operator that enters Python twice, inside another one that does, then its node in backward."""
    program = Program()
    program.thread(1)
    stacks = [program.stack(*frames) for frames in ((MAIN,), (MAIN, APPLY), (MAIN, APPLY, FORWARD, DEEPER))]
    setup, beside = program.stack(MAIN, APPLY, SETUP), program.stack(MAIN, FORWARD)
    inner = [op("deeper", 21, 25, stack=stacks[2]), op("setup", 26, 28, stack=setup)]
    middle = op("apply", 20, 30, *inner, stack=stacks[1], sequence=number, scope=scope)
    program.run(op("outer", 10, 40, middle, op("last", 31, 32, stack=stacks[0]), stack=stacks[0]))
    program.run(op("beside", 41, 42, stack=beside))
    program.run(op("Node", 50, 60, scope=1, node_sequence=3, node_thread=1))
    return program


@pytest.mark.parametrize("block_rows", [1, 100])
def test_python_around_and_inside_forward_operators_is_forward(tmp_path: Path, block_rows: int) -> None:
    found = phases(tmp_path, program_with(), block_rows)
    assert found == {
        **dict.fromkeys(("deeper", "setup", "apply", "last", "outer"), "FORWARD"),
        "beside": "OTHER",
        "Node": "BACKWARD",
    }


def test_nothing_is_forward_without_a_node(tmp_path: Path) -> None:
    found = phases(tmp_path, program_with(number=4))
    assert set(found.values()) == {"OTHER", "BACKWARD"}


def test_ranges_do_not_pass_on_a_phase(tmp_path: Path) -> None:
    found = phases(tmp_path, program_with(scope=USER_SCOPE))
    assert {name for name, phase in found.items() if phase == "FORWARD"} == set()


def test_batches_that_cut_an_operator_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "BATCH_ROWS", 1)
    found = phases(tmp_path, program_with(), 1)
    assert found["apply"] == "FORWARD"


def test_very_deep_stacks_are_handled(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    deep = program.stack(*(f"a.py:{line} f" for line in range(1, 20_000)))
    program.run(op("outer", 1, 9, op("inner", 2, 3, stack=deep), stack=0, sequence=0))
    program.run(op("Node", 10, 11, scope=1, node_sequence=0, node_thread=1))
    assert phases(tmp_path, program)["outer"] == "FORWARD"
