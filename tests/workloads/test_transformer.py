"""Tests for the transformer only: the operators of an article, and one in C++."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.attribution import WORKLOADS
from tests.workloads.recorded import Recorded, words_of

SCRIPT = str(WORKLOADS / "transformer.py")
# The table of https://gist.github.com/mingfeima/e08310d7e7bb9ae2a693adecf2d8a916, with today's names.
ARTICLE = """
bmm div copy_ mm mul bernoulli_ native_layer_norm_backward _softmax_backward_data _softmax masked_fill_
convolution_backward mkldnn_convolution embedding_dense_backward add_ div_ sum add empty mul_
"""


@pytest.fixture(scope="module")
def transformer(recorded: Callable[[str], Recorded]) -> Recorded:
    return recorded("transformer")


def test_every_operator_of_the_article_has_lines_of_the_program(transformer: Recorded) -> None:
    found = {
        row["operator"].removeprefix("aten::")
        for row in transformer.rows
        if row["file"] == SCRIPT and row["line"] is not None
    }
    assert set(ARTICLE.split()) - found == set()


def test_the_cpp_operator_equals_its_composition(tmp_path: Path, transformer: Recorded) -> None:
    composed = run(["--no-compile"], tmp_path)
    assert composed == transformer.out


def test_without_a_compiler_it_prints_one_line_and_continues(tmp_path: Path, transformer: Recorded) -> None:
    without = {"CXX": "no-compiler", "XDG_CACHE_HOME": str(tmp_path)}
    said, _, printed = run([], tmp_path, without).partition("\n")
    assert said == "window_mean is composed in Python, its C++ cannot be used: no-compiler was not found"
    assert printed == transformer.out


def run(words: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    """The workload's output without perfprobe."""
    command = [sys.executable, SCRIPT, *words_of("transformer"), *words]
    environment = {**os.environ, **(environment or {})}
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
