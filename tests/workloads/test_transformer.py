"""What only the transformer has: operators known from an article, one in C++, signatures counted by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.attribution import WORKLOADS
from benchmarks.truth import transformer as lines
from tests.workloads.recorded import Recorded, words_of

SCRIPT = str(WORKLOADS / "transformer.py")
STEPS, LAYERS = 2, 2

# https://gist.github.com/mingfeima/e08310d7e7bb9ae2a693adecf2d8a916, its table from the top, under today's names.
ARTICLE = """
bmm div copy_ mm mul bernoulli_ native_layer_norm_backward _softmax_backward_data _softmax masked_fill_
convolution_backward mkldnn_convolution embedding_dense_backward add_ div_ sum add empty mul_
"""

# Batch 2 with 2 heads: 4 times [8 positions, 8 features]; features as channels: 16, windows of 5.
# (operator, phase, text of its line, signature): calls a step.
SIGNATURES = {
    ("bmm", "forward", lines.SCORES, "f32[4,8,8] f32[4,8,8]{64,1,8}"): LAYERS,
    ("bmm", "forward", lines.MIXED, "f32[4,8,8] f32[4,8,8]"): LAYERS,
    ("div", "forward", lines.DIVISION, "f32[4,8,8] f64[]"): LAYERS,
    ("div", "backward", lines.DIVISION, "f32[4,8,8] f64[]"): LAYERS,
    ("_softmax", "forward", lines.SOFTMAX, "f32[4,8,8] dim=-1 half_to_float=False"): LAYERS,
    ("workloads::window_mean", "forward", lines.WINDOW, "f32[2,8,16] radius=2"): 1,
    ("workloads::window_mean_backward", "backward", lines.WINDOW, "f32[2,8,16] radius=2"): 1,
}


@pytest.fixture(scope="module")
def transformer(recorded: Callable[[str], Recorded]) -> Recorded:
    return recorded("transformer")


def test_operators_have_the_shapes_of_their_lines(transformer: Recorded) -> None:
    calls: Counter[tuple[str, str, str | None, str]] = Counter()
    for row in transformer.rows:
        operator = row["operator"].removeprefix("aten::")
        key = (operator, row["phase"], transformer.truth.text_of(row), row["signature"])
        if key in SIGNATURES:
            calls[key] += row["calls"]
    assert calls == {key: count * STEPS for key, count in SIGNATURES.items()}


def test_every_operator_of_the_article_is_found_on_lines_of_the_program(transformer: Recorded) -> None:
    found = {
        row["operator"].removeprefix("aten::")
        for row in transformer.rows
        if row["file"] == SCRIPT and row["line"] is not None
    }
    assert set(ARTICLE.split()) - found == set()


def test_the_operator_in_cpp_computes_what_its_composition_does(
    tmp_path: Path, transformer: Recorded
) -> None:
    composed = run(["--no-compile"], tmp_path)
    assert composed == transformer.out


def test_without_a_compiler_it_says_so_in_one_line_and_goes_on(tmp_path: Path, transformer: Recorded) -> None:
    without = {"PATH": "", "CXX": "c++", "XDG_CACHE_HOME": str(tmp_path)}
    said, _, printed = run([], tmp_path, without).partition("\n")
    assert said == "window_mean is composed in Python, its C++ cannot be used: c++ was not found"
    assert printed == transformer.out


def run(words: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    """What the workload prints, without perfprobe."""
    command = [sys.executable, SCRIPT, *words_of("transformer"), *words]
    environment = {**os.environ, **(environment or {})}
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
