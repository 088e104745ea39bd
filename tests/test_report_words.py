"""`report/` words judgements and makes none: nothing in it is compared with a share, a count or a time.

What is too small to be shown is a matter of room. Its limits are in `rows/named.py`, and here by file.
Exports, pictures and `render/` have limits of files, pictures and lines, and decide nothing either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

REPORT = Path(__file__).resolve().parent.parent / "perfprobe" / "report"
FOLDERS = ("rows", "section")
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
PLAIN = (-1, 0, 1, 2)  # none, one, several; half of something
ROOM = ("room", "width")

NAMED = "rows/named.py"  # the limits of what is shown
ALLOWED = {
    # how a figure or a time is written
    "section/counters.py": {"_WHOLE"},
    "section/gpu/copies.py": {"_LEAST_RATE"},
    "section/kept.py": {"600"},
    "section/machine.py": {"86400", "60"},
    "section/screen/places.py": {"0.005", "9.95", "_LARGE"},
    "section/screen/worded.py": {"0.01"},
    "section/hot_lines.py": {"0.1", "0.03"},  # colours
    # whether a figure has room, or is worth it, beside others
    "section/modules.py": {"_STANDS_OUT", "_STANDS_OUT_OF_TWO"},
    "section/screen/spark.py": {"_LEAST_LEVELS"},
    "section/screen/steps.py": {"_FAR_APART", "_WORTH_SAYING_NS", "100"},
    "section/start_up.py": {"_LEAST_NS", "_NOTEWORTHY_NS"},
    # names that are similar; no division by 0
    "rows/call_stacks.py": {"0.5"},
    "rows/kept.py": {"1e-09"},
    # fewer samples than this say nothing; more than this is damaged
    "rows/between.py": {"_FEWEST_LOOKS"},
    "rows/gpu/states.py": {"_MOST_MHZ", "1000"},
    "section/figures.py": {"_MOST_EMPTY_NS"},
}


def limits(text: str) -> Iterator[tuple[int, str]]:
    """(line, name or number) of what something is compared with, and of fractions."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and any(isinstance(each, ORDER) for each in node.ops):
            sides = [node.left, *node.comparators]
            if not any(_is_length(side) for side in sides):
                yield from ((node.lineno, found) for side in sides for found in _numbers(side))
        elif isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value % 1:
            yield node.lineno, str(node.value)


def _is_length(node: ast.expr) -> bool:
    """Whether it is a number of rows or cells."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("len", "cell_len")
    return any(isinstance(each, ast.Name) and each.id in ROOM for each in ast.walk(node))


def _numbers(node: ast.expr) -> Iterator[str]:
    """Constants that a side of a comparison is, or is calculated from."""
    if isinstance(node, ast.BinOp):
        yield from (found for side in (node.left, node.right) for found in _numbers(side))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("max", "min"):
        yield from (found for each in node.args for found in _numbers(each))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value not in PLAIN:
        yield str(node.value)
    elif isinstance(node, ast.Name) and node.id.isupper():
        yield node.id


def compared(path: Path) -> list[str]:
    name = path.relative_to(REPORT).as_posix()
    text = path.read_text(encoding="utf-8")
    allowed = ALLOWED.get(name, set())
    values = {
        str(node.value.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in allowed
    }
    return [f"{name}:{line}: {found}" for line, found in limits(text) if found not in allowed | values]


def test_nothing_in_the_report_is_compared_with_a_limit() -> None:
    files = [path for folder in FOLDERS for path in sorted((REPORT / folder).rglob("*.py"))]
    assert len(files) > 100
    assert [found for path in files if path != REPORT / NAMED for found in compared(path)] == []


def test_every_exception_is_needed() -> None:
    for name, allowed in ALLOWED.items():
        found = {each for _, each in limits((REPORT / name).read_text(encoding="utf-8"))}
        assert allowed <= found, name


def test_limits_are_found_in_source() -> None:
    source = """\
_MUCH = 0.2
def slow(share, rows):
    if share >= _MUCH or 2 * share > 1 or share > max(_MUCH * rows, 0):
        return len(rows) > MOST
    return 30 <= share
"""
    assert sorted(limits(source)) == [(1, "0.2"), (3, "_MUCH"), (3, "_MUCH"), (5, "30")]
