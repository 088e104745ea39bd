"""Rules of ARCHITECTURE.md that no other tool checks, read from the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sorted((ROOT / "perfprobe").rglob("*.py"))

UNITS = "support/units.py"
NUMBERS = {
    "bench/emit/runner.py": "a script that is written for the user, without perfprobe",
    "collect/cprofile.py": "runs in the program's process, where units.py would import typing",
    "report/export/chrome/device.py": "times in JSON, not for readers",
}

# By something else than an import.
USED = {
    "perfprobe.__main__": "python -m perfprobe",
    "perfprobe.bench.emit.runner": "its text becomes a part of scripts",
    "perfprobe.report.export.collapsed": "found by the name of the format",
    "perfprobe.report.export.pprof": "found by the name of the format",
    "perfprobe.report.export.pstats": "found by the name of the format",
    "perfprobe.report.export.speedscope": "found by the name of the format",
    "perfprobe.support.boot": "run by its path",
}
EMPTY_NAMES = ("common", "helper", "helpers", "manager", "misc", "util", "utils")
TORCH = re.compile(r'^\s*#\s*include\s+[<"](?:ATen|c10|torch/(?:csrc|extension|library|all))', re.MULTILINE)
LAWFUL_TORCH = ("csrc/torch/", "csrc/bindings/observer_module.cpp")


def number_formats(text: str) -> Iterator[int]:
    """The line of each number in an f-string that is given decimals or digits, as `{x:.1f}` and `{x:g}`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            last = node.format_spec.values[-1]
            if isinstance(last, ast.Constant) and re.search(r"(?:^|[^%])[eEfFgG%]$", str(last.value)):
                yield node.lineno


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "perfprobe").as_posix()


def test_only_units_gives_numbers_their_digits() -> None:
    found = {
        name_of(path): list(number_formats(path.read_text(encoding="utf-8")))
        for path in PYTHON
        if name_of(path) not in (UNITS, *NUMBERS)
    }
    assert {name: lines for name, lines in found.items() if lines} == {}, f"use a function of {UNITS}"


def test_every_exception_for_numbers_is_needed() -> None:
    for name in NUMBERS:
        assert list(number_formats((ROOT / "perfprobe" / name).read_text(encoding="utf-8"))), name


def test_number_formats_are_found() -> None:
    source = """\
a = f"{x:.1f} {x:g}"
b = f"{x:.{n}f}"
c = f"{x:,} {x:>6} {x:{width}} {x:03d} {x} {when:%Y-%m-%d}"
d = f"{x:.0%}"
"""
    assert sorted(number_formats(source)) == [1, 1, 2, 4]


def test_a_name_says_what_is_inside() -> None:
    files = [
        path
        for folder in ("perfprobe", "csrc", "tests", "docs", "benchmarks")
        for path in (ROOT / folder).rglob("*")
    ]
    assert [str(path) for path in files if path.stem in EMPTY_NAMES and ".venv" not in path.parts] == []


def test_only_one_folder_includes_torch() -> None:
    files = [path for path in (ROOT / "csrc").rglob("*") if path.suffix in (".h", ".cpp", ".cu")]
    found = {
        path.relative_to(ROOT).as_posix() for path in files if TORCH.search(path.read_text(encoding="utf-8"))
    }
    assert "csrc/torch/recorded_call.cpp" in found
    assert [name for name in sorted(found) if not name.startswith(LAWFUL_TORCH)] == []


def imports(path: Path) -> Iterator[str]:
    """The modules of perfprobe that a module names anywhere, also for types only, as paths."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("perfprobe"):
            for name in (f"{node.module}.{alias.name}" for alias in node.names):
                yield name if name in MODULES else str(node.module)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in PYTHON}


def circles(graph: dict[str, set[str]]) -> set[str]:
    """What remains if all that imports nothing, or that nothing imports, is taken away again and again."""
    while True:
        named = set().union(*graph.values()) if graph else set()
        kept = {
            name: {each for each in found if each in graph}
            for name, found in graph.items()
            if found & set(graph) and name in named
        }
        if kept == graph:
            return set(graph)
        graph = kept


def test_no_modules_import_each_other() -> None:
    """`perfprobe` itself imports its public names on first use."""
    graph = {name: set(imports(path)) - {name, "perfprobe"} for name, path in MODULES.items()}
    assert sorted(circles(graph)) == []


def test_every_module_is_used() -> None:
    named = {name for path in PYTHON for name in imports(path)}
    texts = "".join(path.read_text(encoding="utf-8") for path in PYTHON)  # modules that are named in a text
    left = {name for name, path in MODULES.items() if name not in named and path.stem != "__init__"}
    assert {name for name in left if name not in texts} == set(USED)


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a"}}
    assert circles(graph) == {"b", "c"}
