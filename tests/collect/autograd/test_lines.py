"""Lines of operator syntax. Each function marks by hand the only line that may be claimed, or none."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from perfprobe.collect.autograd.lines import SourceTexts

SOURCE = """
    import torch
    def straight(x):
        y = torch.relu(x)
        z = y / 2
        w = torch.relu(z)
        return w / 3 + z[1]
    def loop(xs):
        for x in xs:
            y = torch.relu(x) / 3
            z = y / 2
        return z * 2
    class Net:
        @property
        def inside(self):
            return -self.x
        def outer(self):
            inner = lambda t: t @ t
            return inner(self.x) @ self.x
    def kinds(x):
        a = x[1]
        b = x[:, 2]
        c = x[None]
        x[0] = 1
        return a
    def long(x):
        y = (x /
             torch.relu(x))
        y -= torch.exp(
            x)
        return y / 2 - 1
    """


@pytest.mark.parametrize(
    ("function", "first_line", "operator", "before", "after", "line"),
    [
        ("straight", 3, "aten::div", None, None, None),
        ("straight", 3, "aten::div", 4, 6, 5),
        ("straight", 3, "aten::div", 6, None, 7),
        ("straight", 3, "aten::select", None, None, 7),
        ("straight", 3, "aten::relu", 4, 4, 4),
        ("straight", 3, "aten::exp", 4, 6, None),
        ("loop", 8, "aten::div", 10, 10, None),  # either line is possible, because the loop may have repeated
        ("loop", 8, "aten::mul", 10, None, 12),
        ("inside", 14, "aten::neg", None, None, 16),
        ("outer", 17, "aten::matmul", None, None, 19),
        ("<lambda>", 18, "aten::matmul", None, None, 18),
        ("kinds", 20, "aten::unsqueeze", None, None, 23),
        ("kinds", 20, "aten::slice", None, None, 22),
        ("kinds", 20, "aten::select", None, None, None),
        ("kinds", 20, "aten::fill_", None, None, 24),
        ("long", 26, "aten::div", 28, 29, 27),  # after the call on the next line
        ("long", 26, "aten::div", 29, None, 31),
        ("long", 26, "aten::sub_", 29, None, 29),
        ("long", 26, "aten::sub", 29, None, None),  # - or -=, for objects without -=
    ],
)
def test_lines_of_operator_syntax(
    function: str,
    first_line: int,
    operator: str,
    before: int | None,
    after: int | None,
    line: int | None,
    tmp_path: Path,
) -> None:
    file = tmp_path / "signs.py"
    file.write_text(dedent(SOURCE))
    found = SourceTexts().function(str(file), first_line, function)
    assert found is not None
    assert found.line(operator, before, after) == line


def test_names_are_qualified(tmp_path: Path) -> None:
    file = tmp_path / "signs.py"
    file.write_text(dedent(SOURCE))
    found = SourceTexts().function(str(file), 18, "<lambda>")
    assert found is not None
    assert found.name == "Net.outer.<locals>.<lambda>"


@pytest.mark.parametrize("content", [b"def broken(:", b"\0", b"x = 1"])
def test_an_unreadable_source_gives_no_line(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "odd.py"
    file.write_bytes(content)
    assert SourceTexts().function(str(file), 1, "f") is None
    assert SourceTexts().function(str(tmp_path / "missing.py"), 1, "f") is None
