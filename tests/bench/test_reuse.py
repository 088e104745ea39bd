"""The reuse distance of operands in a replay, compared with a count of touched bytes."""

from __future__ import annotations

import inspect
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import perfprobe
from perfprobe.bench import reuse
from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import schemas
from perfprobe.bench.replayed import replayed
from perfprobe.bench.subjects import Subject
from perfprobe.tables import storage
from perfprobe.tables.events import OperandReuse
from perfprobe.tables.measurements import Wanted

KIB, MIB = 1 << 10, 1 << 20


def table(*rows: tuple[int, ...]) -> OperandReuse:
    columns = dict(zip(OperandReuse.dtypes, np.array(rows).T, strict=True))
    return OperandReuse(
        **{name: column.astype(OperandReuse.dtypes[name]) for name, column in columns.items()}
    )


def test_each_operand_has_the_distance_of_its_median_call() -> None:
    """Its mean distance. Calls with memory never touched before do not count."""
    near, middle, never = (5, 0, -1, 0, 3, 9), (5, 0, -1, 2, 4, 512 * KIB), (5, 0, -1, 7, 99, 0)
    found = reuse.by_signature(
        table(near, middle, never, (5, 2, 0, 6, 9, MIB << 10), (7, 0, -1, 7, 1, 0), (7, 16, -1, 6, 1, 0))
    )
    assert found == {
        5: reuse.Reuse((512 * KIB, -1, -1), -1, (-1, -1, 0)),
        7: reuse.Reuse((-1,), 64 * MIB, (-1,)),
    }


def test_a_damaged_table_is_ignored() -> None:
    rows = [(-1, 0, -1, 0, 1, 0), (1, -1, -1, 0, 1, 0), (1, 17, -1, 0, 1, 0), (4, 0, -1, 0, 1, -8)]
    rows += [(2, 0, 7, -4, 1, 0), (3, 0, -1, 2**30, 5, 0)]
    assert reuse.by_signature(table(*rows)) == {
        2: reuse.Reuse((-1,), -1, (-1,)),
        3: reuse.Reuse((-1,), -1, (-1,)),
    }


def touched_since(sizes: Sequence[int], taken: Sequence[int], other_bytes: int, place: int) -> int:
    """By brute force: bytes of other copies touched between two touches of the same copy."""
    calls = [[(at, call % count) for at, count in enumerate(taken)] for call in range(4 * max(taken))]
    first = max(taken)
    wanted = calls[first][place]
    seen: set[tuple[int, int]] = set()
    for call in calls[first:]:
        if call is not calls[first] and wanted in call:
            break
        seen.update(call)
    return sum(sizes[at] for at, _ in seen - {wanted}) + other_bytes


def test_copies_have_the_programs_reuse_distance() -> None:
    """Up to the size of one more copy, for any operands."""
    draw = random.Random(7)
    for _ in range(300):
        sizes = [draw.choice((4 * KIB, 300 * KIB, MIB)) for _ in range(draw.randint(1, 4))]
        back = [draw.choice((-1, 32 * KIB, 512 * KIB, 8 * MIB)) for _ in sizes]
        taken = reuse.copies(back, sizes, 100 * KIB, 500)
        for place, wanted in enumerate(back):
            if wanted < 0:
                assert taken[place] == 500
            elif 1 < taken[place] < 500:
                grown = sum(size for size, count in zip(sizes, taken, strict=True) if count >= taken[place])
                assert abs(touched_since(sizes, taken, 100 * KIB, place) - wanted) <= grown


@pytest.mark.parametrize(("back", "copies"), [((), 9), ((-1,), 9), ((0,), 1), ((10 * KIB,), 4), ((MIB,), 9)])
def test_copies_of_one_operand(back: tuple[int, ...], copies: int) -> None:
    assert reuse.copies(back, [4 * KIB], 0, 9) == (copies,)


def subject_of(wanted: Wanted, sets: int) -> tuple[Subject, list[Any]]:
    call = Rebuilt(recipe(wanted, schemas(wanted.operator, torch), 1 << 30), torch)
    operands = [call.operands(seed) for seed in range(sets)]
    (made,) = replayed(torch, call, operands, wanted)
    return made, operands


def test_each_operand_rotates_over_its_own_sets() -> None:
    wanted = Wanted("aten::cat", "(f32[1024],f32[1024],f32[1024])", reuse=(0, 20 * KIB, -1), same=(-1, -1, 0))
    made, operands = subject_of(wanted, 4)
    first = [one.args[0][0].data_ptr() for one in made._sets]
    second = [one.args[0][1].data_ptr() for one in made._sets]
    assert set(first) == {operands[0].args[0][0].data_ptr()}
    assert [one.args[0][2].data_ptr() for one in made._sets] == first
    assert 1 < len(set(second)) <= 4
    made.run(9)


def test_written_operands_are_restored() -> None:
    """A recently touched operand rotates over as many copies as warm ones do, and is restored."""
    text = "f32[32768] f32[32768]"
    made, operands = subject_of(Wanted("aten::pow_.Tensor", text, reuse=(0, -1)), 8)
    before = [one.args[0].clone() for one in operands]
    assert len({one.args[0].data_ptr() for one in made._sets}) == 1
    for _ in range(20):
        made.run(1)
        written = operands[0].args[0]
        others = [one.args[1] for one in operands]
        once = any(torch.equal(written, before[0] ** other) for other in others)
        assert once or any(torch.equal(written, (before[0] ** a) ** b) for a in others for b in others)
    assert all(torch.equal(one.args[0], start) for one, start in zip(operands[1:], before[1:], strict=True))


def test_results_get_memory_used_the_right_number_of_calls_ago() -> None:
    """1 MiB results at a distance of 10 MiB: the operand stays in one place, and ten results are kept."""
    made, _ = subject_of(Wanted("aten::neg", "f32[262144]", reuse=(0,), result_reuse=10 * MIB), 20)
    seen = []
    cells = inspect.getclosurevars(made._function).nonlocals
    kept = cells["kept"]
    for _ in range(30):
        made.run(1)
        seen.append(kept[-1].data_ptr())
    assert len(set(seen[-10:])) == 10
    assert len({one.args[0].data_ptr() for one in made._sets}) == 1


def test_without_recorded_reuse_there_is_no_replay() -> None:
    wanted = Wanted("aten::neg", "f32[64]", reuse=(-1,))
    call = Rebuilt(recipe(wanted, schemas(wanted.operator, torch), 1 << 30), torch)
    assert replayed(torch, call, [call.operands(0)], wanted) == []


def test_a_recording_has_the_reuse_distances_of_its_operands(tmp_path: Path) -> None:
    state, gradient, other = torch.ones(7), torch.ones(7), torch.ones(MIB)  # 4 MiB
    path = tmp_path / "it.perfprobe"
    with perfprobe.profile(path, detail="bench"):
        for _ in range(5):
            other.neg_()
            gradient.neg_()
            state.addcmul_(gradient, gradient)
    found = reuse.by_signature(storage.read(path)[OperandReuse])
    (seen,) = (one for one in found.values() if len(one.reuse) == 3)
    # Touched in between: other and gradient. A mean of float32.
    assert seen == reuse.Reuse((4 * MIB + 28, 0, 0), -1, (-1, -1, 1))
