"""The text of scripts: data of a recording can only be in literals, the docstring and the file's name."""

from __future__ import annotations

import ast
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from perfprobe.bench.emit.folder import write_scripts
from perfprobe.bench.emit.literals import literal, stem
from perfprobe.bench.emit.script import Candidate, script
from perfprobe.bench.rebuild.recipe import CallRecipe, TensorRecipe
from perfprobe.tables.measurements import Estimate, Measurement, Verdict, Wanted
from tests.bench.emit.calls import CALLS, floats

HOSTILE = (
    'a"""\nimport os\n"""',
    "a'''\nimport os",
    "a\\",
    'a\\"""',
    "a\rimport os",
    "a\u2028import os\u2029\x85\x0bimport os\x0c",
    "a\x00b",
    "\ud800\U000e0001\u202e",
    "{name} {0.__class__} %(prog)s %s",
    "../../../etc/passwd",
    "$(touch x) `touch x`; touch x",
    "#\n# -*- coding: utf-7 -*-",
    "é中" * 100,
    "",
)


def of(text: str) -> tuple[Candidate, CallRecipe]:
    """A call with this text in every place that takes a text."""
    tensor = TensorRecipe(text, (2,), (1,), text, text, {text: text}, True)
    recipe = CallRecipe(text, text, (tensor, text, (text, 1)), {text: text}, text, (text,))
    verdict = Verdict(text, text, (text,))
    measurement = Measurement(Wanted(text, text), text, text, warm=Estimate(1, 1, 1), verdict=verdict)
    return Candidate(Wanted(text, text, text, text), recipe, 0.5, (text,), measurement), recipe


def shape_of(source: str) -> str:
    """The syntax tree without the data."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = "text"
    return ast.dump(tree)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_changes_only_data(text: str) -> None:
    plain, hostile = script(1, *of("text")), script(1, *of(text))
    source = hostile.source.encode("utf-8").decode("utf-8")
    assert shape_of(source) == shape_of(plain.source)
    compile(source, "script.py", "exec")
    assert call_of(source) == of(text)[1].plain()
    assert re.fullmatch(r"\w{1,60}", hostile.stem, re.ASCII)
    head = source[: source.index("from __future__")]
    # No line break other than
    # , and no additional line in the header.
    assert (
        len(head.splitlines()) == len(plain.source[: plain.source.index("from __future__")].split("\n")) - 1
    )


def call_of(source: str) -> Any:
    assigned = next(node for node in ast.parse(source).body if isinstance(node, ast.Assign))
    return eval(compile(ast.Expression(assigned.value), "", "eval"), {"__builtins__": {"float": float}})


@pytest.mark.parametrize(
    "value", [1.5, -0.0, 1e-310, math.inf, -math.inf, 3, -(2**63), True, None, [], {}, (1,)]
)
def test_numbers_are_written_and_read_unchanged(value: object) -> None:
    back = eval(literal(value), {"__builtins__": {"float": float}})
    assert (type(back), repr(back)) == (type(value), repr(value))
    assert math.isnan(eval(literal(math.nan), {"__builtins__": {"float": float}}))


class Sly(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "__import__('os').abort()"


@pytest.mark.parametrize("value", [Sly("a"), object(), {1: 2}, {Sly("a"): 1}, [Sly("a")], b"a"])
def test_other_types_have_no_literal(value: object, tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        literal(value)
    recipe = CallRecipe("aten::mul", "", (value,))  # type: ignore[arg-type]
    written = write_scripts([(Wanted("aten::mul", ""), recipe, 0.25)], tmp_path)
    assert written.scripts == ()
    assert written.left_out[0].reason.startswith("not possible as source")


def test_scripts_import_nothing_but_torch_and_python(tmp_path: Path) -> None:
    for number, recipe in enumerate(CALLS, 1):
        tree = ast.parse(script(number, Candidate(Wanted(recipe.operator, ""), recipe), recipe).source)
        imported = {
            name.split(".")[0]
            for node in ast.walk(tree)
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        assert imported - set(sys.stdlib_module_names) == {"torch", "nvtx"}  # nvtx: if it is installed


def test_embedded_modules_have_no_name_conflicts() -> None:
    tree = ast.parse(script(1, Candidate(Wanted("aten::mm", ""), CALLS[3]), CALLS[3]).source)
    named = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for node in tree.body:
        if isinstance(node, ast.Assign):
            named += [target.id for target in node.targets if isinstance(target, ast.Name)]
    assert len(named) == len(set(named))
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom | ast.Import)
        for alias in node.names
    }
    assert imported.isdisjoint(named)


def test_file_names_are_short_and_contain_the_operator() -> None:
    assert (
        stem(1, "aten::bmm", [floats(64, 128, 64), floats(64, 64, 128)])
        == "01_aten_bmm_f32_64x128x64_f32_64x64x128"
    )
    assert (
        stem(12, "aten::add_", [TensorRecipe("bfloat16", (), None, "cpu", "uniform")])
        == "12_aten_add__bf16_scalar"
    )
    many = [TensorRecipe("int64", (10**6, 10**6, 10**6), None, "cpu", "integers")] * 9
    assert stem(3, "aten::_foreach_add_", many) == "03_aten__foreach_add__i64_1000000x1000000x1000000"


def test_the_docstring_describes_the_call() -> None:
    wanted = Wanted("aten::mm", "f32[64,32] f32[32,64]", threads=4)
    measurement = Measurement(
        wanted,
        "cpu",
        "cpu",
        rotating=Estimate(2e6, 1.9e6, 2.1e6),
        verdict=Verdict("inefficient", "inefficient: 20 % of GEMM peak", ("serial kernel",)),
    )
    source = script(
        1, Candidate(wanted, CALLS[3], 0.125, ("model.py:12 forward",), measurement), CALLS[3]
    ).source
    said = ast.get_docstring(ast.parse(source)) or ""
    assert said.splitlines()[0] == "aten::mm f32[64,32] f32[32,64]"
    for line in (
        "Share: 12.5 % of all operator time of the program.",
        "Line: model.py:12 forward",
        "Measured, rotating: 2.00 ms a call (1.90 ms to 2.10 ms), cpu time.",
        "Verdict: inefficient: 20 % of GEMM peak; serial kernel",
        "            5 s of hot calls (4 threads) over copies of the operands, more than caches hold",
    ):
        assert line in said.splitlines()
