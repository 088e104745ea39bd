"""Which line SLOW names, and the figures beside it, for programs that once misled a reader."""

from pathlib import Path

import pytest

from perfprobe.analyse.loop.batches import Batches
from perfprobe.merge import link
from perfprobe.report.render.text import first_screen
from perfprobe.report.section.screen.screen import screen_rows
from perfprobe.results import Results
from perfprobe.support.view import View
from tests.build import Program, op
from tests.report.test_screen import MS, STEP_NS, STEPS, found, labelled
from tests.report.test_text import META
from tests.snapshots import Snapshot


def own_method(kind: str, longer: int = 0) -> Program:
    """Calls of a model: 60 of 100 ms at a line of `Attn.forward`, in a module of this class.

    longer: how many of the last calls begin another 300 ms after the one before.
    """
    end_ns = STEPS * STEP_NS + longer * 300 * MS
    program = Program(**{**META, "stop": {"monotonic_ns": end_ns, "cpu_ns": end_ns}})
    program.thread(1)
    net = program.module("", "Net")
    inner = program.module("attn", kind, net)
    outer, own = "/p/model.py:20 main", "/p/model.py:10 Attn.forward"
    stack = program.stack((outer, net), (own, inner))
    head = program.stack((outer, net), ("/p/model.py:14 Net.forward", program.module("head", "Linear", net)))
    inputs, others = program.signature("f32[64,128] f32[128,64]"), program.signature("f32[64,64]")
    for number in range(STEPS):
        at = number * STEP_NS + max(number - STEPS + longer, 0) * 300 * MS
        program.run(
            op("aten::bmm", at, at + 30 * MS, stack=stack, signature=inputs),
            op("aten::bmm", at + 30 * MS, at + 50 * MS, stack=stack, signature=others),
            op("aten::div", at + 50 * MS, at + 60 * MS, stack=stack, signature=others),
            op("aten::mm", at + 60 * MS, at + 80 * MS, stack=head, signature=inputs),
        )
    return program


def test_a_line_in_the_hottest_modules_own_method_is_named(tmp_path: Path) -> None:
    """Its operators are added up over their shapes."""
    rows = screen_rows(found(own_method("Attn"), tmp_path))
    slow = next(at for at, row in enumerate(rows) if row.label == "SLOW")
    assert rows[slow].text.startswith("model.py:10, 60.0 ms = ")
    below = rows[slow].text + rows[slow + 1].text
    assert "bmm" in below
    assert "called at" not in below


def test_a_module_of_another_class_is_named_instead_of_the_line_that_calls_it(tmp_path: Path) -> None:
    lines = labelled(found(own_method("Attention"), tmp_path))
    assert lines["SLOW"].startswith("attn")


def test_the_operators_of_a_script_are_added_up_at_their_line(tmp_path: Path, snapshot: Snapshot) -> None:
    """No row has most of the time, but one line has. At 80 columns the place is seen."""
    program = Program(**{**META, "stop": {"monotonic_ns": STEP_NS, "cpu_ns": STEP_NS}})
    program.thread(1)
    line, other = program.stack("/p/loop.py:5 slow"), program.stack("/p/loop.py:9 fast")
    shapes = [program.signature(f"f32[{size}]") for size in (8, 16)]
    program.run(
        op("aten::select", 0, 20 * MS, stack=line, signature=shapes[0]),
        op("aten::select", 20 * MS, 40 * MS, stack=line, signature=shapes[1]),
        op("aten::sum", 40 * MS, 70 * MS, stack=line, signature=shapes[0]),
        op("aten::mul", 70 * MS, 100 * MS, stack=other, signature=shapes[0]),
    )
    snapshot(first_screen(found(program, tmp_path), width=80))


def test_the_mean_is_shown_if_it_is_far_from_the_median(tmp_path: Path, snapshot: Snapshot) -> None:
    """Shares are of the mean: without it, a part seems longer than the step."""
    near, far = (labelled(found(own_method("Attn", long), tmp_path))["CALL"] for long in (0, 3))
    assert ("mean" in near, "mean" in far) == (False, True)
    snapshot(near=near, far=far)


@pytest.mark.parametrize(
    ("signatures", "samples"),
    [
        ([("linear", "f32[4] f32[32,4] f32[32]"), ("linear", "f32[32] f32[2,32] f32[2]")], -1),
        ([("linear", "f32[16,4] f32[32,4] f32[32]"), ("linear", "f32[16,32] f32[16,32] f32[16]")], 16),
        ([("addmm", "f32[32] f32[16,4] f32[4,32]")], 16),
        ([("conv2d", "f32[3,8,8] f32[4,3,3,3]")], -1),
        ([("embedding", "f32[100,8] i64[16,5]"), ("linear", "f32[16,5,8] f32[100,8]")], 16),
    ],
)
def test_a_batch_is_no_dimension_of_weights(
    tmp_path: Path, signatures: list[tuple[str, str]], samples: int
) -> None:
    """A policy that gets one observation without a batch has no batch of its hidden size."""
    program = Program(**META)
    ids = [program.signature(text, operator=f"aten::{name}") for name, text in signatures]
    assert Batches(link(program.recording(tmp_path)))._agreed(ids[0], ids[-1]) == samples


@pytest.mark.parametrize(
    ("taken_ns", "slow", "command"),
    [(60 * MS, "mm, 100 % of operator time", "bench"), (MS, "nothing stands out", "report --view functions")],
)
def test_operators_that_took_hardly_any_of_the_run_are_not_what_is_slow(
    tmp_path: Path, taken_ns: int, slow: str, command: str
) -> None:
    program = Program(**{**META, "stop": {"monotonic_ns": STEP_NS, "cpu_ns": STEP_NS}})
    program.thread(1)
    program.run(op("aten::mm", 0, taken_ns, stack=program.stack("/p/a.py:5 main")))
    lines = labelled(found(program, tmp_path))
    assert lines["SLOW"].startswith(slow)
    assert lines["NEXT"] == f"perfprobe {command}"


@pytest.mark.parametrize(
    ("operators_ms", "slow", "below", "command"),
    [
        (400, "mm, 100 % of operator time: p.py:3", "p.py:8, 300 ms = 30 % of wall, Python", "bench"),
        (
            200,
            "p.py:8, 300 ms = 30 % of wall, Python",
            "mm, 100 % of operator time: p.py:3",
            "report --view functions",
        ),
    ],
)
def test_the_longer_of_python_and_operators_comes_first(
    tmp_path: Path, operators_ms: int, slow: str, below: str, command: str
) -> None:
    second = 1000 * MS
    program = Program(**{**META, "stop": {"monotonic_ns": second, "cpu_ns": second}})
    program.thread(1, "p")
    program.run(op("aten::mm", 0, operators_ms * MS, stack=program.stack("/p/p.py:3 main")))
    program.sample(0, operators_ms * MS, "/p/p.py:3/2 main", looks=9, cpu_ns=operators_ms * MS)
    program.sample(400 * MS, 700 * MS, "/p/p.py:8/7 work", looks=9, cpu_ns=300 * MS)
    lines = Results(program.recording(tmp_path).path).text(View()).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("SLOW"))
    assert lines[at].removeprefix("SLOW").strip().startswith(slow)
    assert lines[at + 1].strip().startswith(below)
    assert f"NEXT    perfprobe {command}" in lines
