"""Steps and phases of programs that count and time themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.analyse.loop.programs import LOOPS, TIMED
from tests.collect.runs import perfprobe
from tests.collect.together import together

pytest.importorskip("torch")


def tables(
    folder: Path, program: str, *words: str, environment: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], str]:
    """The tables of the report on a program, and what the program printed."""
    (folder / "program.py").write_text(program)
    outcome = perfprobe(["-q", "-o", "run.perfprobe", "program.py", *words], folder, environment)
    assert outcome.status == 0, outcome.err.decode()
    return Results(str(folder / "run.perfprobe")).document(View())["tables"], outcome.out.decode()


PLAIN = LOOPS["plain"]
AHEAD = "net = Net()\nwith torch.no_grad():\n    for _ in range({}):\n        net(torch.randn(4, 8))\n"
CUT = PLAIN.text.replace("    loss.backward()\n", "    if i == 6:\n        break\n    loss.backward()\n")
CHANGED = {
    "cut": PLAIN._replace(text=CUT),
    **{
        f"ahead {passes}": PLAIN._replace(
            text=AHEAD.format(passes) + PLAIN.text.removeprefix("net = Net()\n")
        )
        for passes in (1, 4)
    },
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """The tables of a loop by its name."""
    loops = {name: (loop.program,) for name, loop in (LOOPS | CHANGED).items()}
    found = together(tmp_path_factory.mktemp("loops"), loops)
    return lambda name: found(name)[0]


@pytest.mark.parametrize("name", LOOPS)
def test_steps_are_as_counted_by_hand(ran: Callable[[str], dict[str, Any]], name: str) -> None:
    counted, found = LOOPS[name], ran(name)
    rows = found["loops"]
    loops = {kind: sorted(row["steps"] for row in rows if row["kind"] == kind) for kind in counted.steps}
    assert loops == counted.steps
    assert len(found["loops"]) == sum(map(len, counted.steps.values()))
    own = [row for row in found["steps"] if row["kind"] != "evaluation"]
    assert {row["micro_batches"] for row in own} == {counted.micro_batches}
    assert {row["samples"] for row in own} == {counted.samples}
    assert found["loops"][0]["line"] == counted.loop_line
    for row in found["steps"]:
        assert sum(row["phases"].values()) == row["end_ns"] - row["start_ns"]


@pytest.mark.parametrize(
    ("name", "kind", "graphs"), [("inference", "inference", [1] * 9), ("evaluation", "evaluation", [1, 0, 1])]
)
def test_unused_graphs_are_no_training_steps(
    ran: Callable[[str], dict[str, Any]], name: str, kind: str, graphs: list[int]
) -> None:
    found = ran(name)
    assert [row["graph"] for row in found["steps"] if row["kind"] == kind] == graphs
    assert {row["graph"] for row in found["steps"] if row["kind"] == "training"} <= {None}
    (also,) = (row["text"] for row in found["first_screen"] if "autograd" in row["text"])
    what = "all 9 calls" if kind == "inference" else "2 of 3 evaluations"
    assert also.startswith(f"autograd recorded in {what}")


def test_a_forward_before_the_end_is_no_evaluation(ran: Callable[[str], dict[str, Any]]) -> None:
    found = ran("cut")
    assert [(row["kind"], row["mark"]) for row in found["steps"]][-2:] == [
        ("training", "steady"),
        ("training", "cut"),
    ]


@pytest.mark.parametrize("passes", [1, 4])
def test_passes_before_the_first_step_are_start_up(ran: Callable[[str], dict[str, Any]], passes: int) -> None:
    steps = [(row["kind"], row["steps"], row["line"]) for row in ran(f"ahead {passes}")["loops"]]
    assert steps == [("training", 7, LOOPS["plain"].loop_line + AHEAD.count("\n") - 1)]


def test_a_generator_that_sleeps_is_waiting_for_data(ran: Callable[[str], dict[str, Any]]) -> None:
    found = ran("generator")
    assert all(row["phases"]["data"] >= 0.9 * 50_000_000 for row in found["steps"])
    data = next(row for row in found["phases"] if row["phase"] == "data")
    assert (data["function"], data["share"] > 0.3) == ("feed", True)


@pytest.mark.parametrize(("workers", "context"), [(0, ""), (2, "fork"), (1, "spawn")])
def test_phases_are_as_the_program_timed_them(tmp_path: Path, workers: int, context: str) -> None:
    found, said = tables(tmp_path, TIMED, str(workers), context)
    reported = json.loads(said)
    loop = found["loops"][0]
    assert (loop["kind"], loop["steps"]) == ("training", 3)
    phases: dict[str, int] = {}
    for row in (row for row in found["steps"] if row["kind"] == "training"):
        for phase, time_ns in row["phases"].items():
            phases[phase] = phases.get(phase, 0) + time_ns
    whole_ns = sum(reported["steps"])
    for phase, took_ns in reported["took"].items():
        assert abs(phases.get(phase, 0) - took_ns) <= 0.02 * whole_ns, (phase, phases, reported)
    assert abs(sum(phases.values()) - whole_ns) <= 0.02 * whole_ns
