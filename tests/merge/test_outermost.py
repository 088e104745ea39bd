import random
from pathlib import Path

import numpy as np
import pytest

from perfprobe.merge.outermost import find_outermost
from perfprobe.tables.events import Operators
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.strings import Strings
from tests.build import Op, Program, op


def tree(chance: random.Random, clock: list[int], depth: int = 0) -> Op:
    """Random operators nested in operators and ranges. No two times are equal."""
    clock[0] += 1
    start_ns = clock[0]
    inside = [tree(chance, clock, depth + 1) for _ in range(chance.randrange(4) if depth < 5 else 0)]
    clock[0] += 1
    scope = USER_SCOPE if chance.random() < 0.3 else 0
    return op(str(start_ns), start_ns, clock[0], *inside, scope=scope)


def expected(items: list[Op], around: str | None = None) -> dict[str, str]:
    """The name of the outermost operator around each operator."""
    found = {}
    for item in items:
        is_range = item.fields["scope"] == USER_SCOPE
        outermost = around or (None if is_range else item.name)
        found.update({} if is_range or outermost is None else {item.name: outermost})
        found.update(expected(list(item.inside), outermost))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_roots_of_two_threads(tmp_path: Path, seed: int) -> None:
    chance, clock = random.Random(seed), [0]
    program = Program()
    trees = [tree(chance, clock) for _ in range(6)]
    for at, item in enumerate(trees):
        program.run(item, thread=program.thread(1 + at % 2))
    recording = program.recording(tmp_path)
    rows = Operators.concat(list(recording.operators()))
    names = [recording[Strings][int(name)] for name in rows.name]
    outermost, is_cut = find_outermost(rows)
    found = {names[row]: names[outermost[row]] for row in range(len(rows)) if rows.scope[row] != USER_SCOPE}
    assert found == expected(trees)
    assert not is_cut.any()


def test_operators_cut_by_a_batch_are_marked(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(op("whole", 1, 4, op("inside", 2, 3)), op("cut", 5, 9, op("before", 6, 7)))
    (rows,) = program.recording(tmp_path).operators()
    outermost, is_cut = find_outermost(rows.take(slice(0, 3)))
    assert outermost.tolist() == [1, 1, 2]
    assert is_cut.tolist() == [False, False, True]


def test_without_rows_there_are_no_roots() -> None:
    outermost, is_cut = find_outermost(Operators.empty())
    assert (len(outermost), len(is_cut)) == (0, 0)
    assert outermost.dtype == np.intp
