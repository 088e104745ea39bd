import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from perfprobe.report.render.collisions import told_apart
from perfprobe.report.render.columns import Placed
from perfprobe.report.section.block import Column
from perfprobe.report.shorten import signature
from tests.build import Program, op
from tests.report.test_text import META, report


def cells(full: Sequence[str], width: int, operators: Sequence[str] = ()) -> list[str]:
    """The cells of rows with these signatures."""
    placed = [
        Placed(Column("operator", list(operators) or ["mm"] * len(full)), 2),
        Placed(Column("signature", [signature(text) for text in full]), width),
    ]
    return list(told_apart(placed, full)[1].column.cells)


@pytest.mark.parametrize(
    ("full", "width", "shown"),
    [
        (["f32[64] f32[8]", "f32[64] f32[9]"], 14, ["f32[64] f32[8]", "f32[64] f32[9]"]),
        (["f32[64] f32[8]", "f32[64] f32[9]"], 12, ["… f32[8]", "… f32[9]"]),
        (["f32[64] f32[8]", "i64[64] f32[9]"], 12, ["f32[64] f32…", "i64[64] f32…"]),
        (
            ["f32[64] f32[8,16]{1,8} alpha=1", "f32[64] f32[8,16]{1,9} alpha=1"],
            17,
            ["… f32[8,16].T al…", "… f32[8,16]{1,9}…"],
        ),
        (["f32[1024,1024,64]", "f32[1024,1024,65]"], 12, ["…1024,64]", "…1024,65]"]),
        (["f32[9] f32[9]", "f32[9] f32[9] x=1"], 10, ["…32[9]", "…32[9] x=1"]),
        (["f32[64] f32[8]", "f32[64] f32[8]"], 12, ["f32[64] f32…", "f32[64] f32…"]),
        (
            ["(f32[1],f32[2],f32[3],f32[4])", "(f32[1],f32[2],f32[5],f32[4])"],
            24,
            ["(f32[1],f32[2],f32[3],f…", "(f32[1],f32[2],f32[5],f…"],
        ),
    ],
)
def test_the_first_difference_is_visible(full: list[str], width: int, shown: list[str]) -> None:
    assert cells(full, width) == shown


def test_rows_with_other_differences_show_the_beginning() -> None:
    assert cells(["f32[64] f32[8]", "f32[64] f32[9]"], 12, ["mm", "ad"]) == ["f32[64] f32…", "f32[64] f32…"]


def test_many_similar_signatures_are_all_distinguished() -> None:
    rng = random.Random(5)
    full = sorted(
        {" ".join(f"f32[{rng.choice([8, 16])},{rng.choice([3, 5])}]" for _ in range(5)) for _ in range(30)}
    )
    for width in (20, 24, 32):
        found = cells(full, width)
        assert max(map(len, found)) <= width
        assert len(set(found)) > len({text[: width - 1] for text in full})


def test_rows_that_differ_only_in_strides_are_distinguished(tmp_path: Path) -> None:
    program = Program(**META)
    program.thread(1)
    line = program.stack("/p/net.py:6 call")
    for at, strides in enumerate(("{1,8}", "{1,12}")):
        inputs = program.signature(f"f32[128,128] f32[128,128] f32[8,16]{strides} non_blocking=False")
        program.run(op("aten::copy_", at * 10, at * 10 + 5, stack=line, signature=inputs))
    rows = [row for row in report(program, tmp_path, 80).splitlines() if "copy_" in row and "net.py:6" in row]
    assert len(rows) == 2
    assert len({re.sub(r"^.* us|^.* ns", "", row) for row in rows}) == 2
