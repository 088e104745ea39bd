"""Our decoding of location tables, compared with `co_positions` of all code in the standard library."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from perfprobe import _core

pytestmark = pytest.mark.skipif(_core.sampler_missing() is not None, reason=str(_core.sampler_missing()))

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
MOST_UNITS = 2000  # all instructions up to this; the thousands of a module would take a minute


def nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


@pytest.mark.parametrize("letter", "abcdefghijklmnopqrstuvwxyz_")
def test_every_instruction_has_the_line_that_the_interpreter_gives_it(letter: str) -> None:
    for path in sorted(LIBRARY.glob(f"{letter}*.py")):
        for code in nested(compile(path.read_bytes(), str(path), "exec")):
            for unit, (line, _, _, _) in enumerate(code.co_positions()):
                if unit == MOST_UNITS:
                    break
                ours = _core.line_of_instruction(code.co_linetable, code.co_firstlineno, 2 * unit)
                assert ours == (-1 if line is None else line), f"{path}: {code.co_qualname}, unit {unit}"


def test_lines_far_apart_and_backwards() -> None:
    source = "def f(x):\n    return (x +\n" + "\n" * 100_000 + "        x.y)(\n" + "\n" * 70 + "  1)\n"
    (code,) = (inner for inner in nested(compile(source, "far.py", "exec")) if inner.co_name == "f")
    for unit, (line, _, _, _) in enumerate(code.co_positions()):
        assert _core.line_of_instruction(code.co_linetable, code.co_firstlineno, 2 * unit) == (line or -1)


@pytest.mark.parametrize(
    "table", [b"", b"\x80", b"\xf8", b"\xf1\x7f", b"\xf1\x7f\x7f\x7f\x7f\x7f\x7f\x7f", b"\x00\x01"]
)
def test_no_table_is_read_beyond_its_end(table: bytes) -> None:
    assert _core.line_of_instruction(table, 7, 1 << 20) == -1
    _core.line_of_instruction(table, 7, 0)
