"""SLOW names the bottleneck planted in a program."""

import json
from pathlib import Path

import pytest

from tests.collect.runs import perfprobe
from tests.planted.programs import PLANTED, Planted

pytest.importorskip("torch")

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_slow_names_the_planted_bottleneck(planted: Planted, tmp_path: Path) -> None:
    words = ["-o", "run.perfprobe", "--json", "run.json", *planted.write(tmp_path)]
    outcome = perfprobe(words, tmp_path, {"COLUMNS": "80"})
    assert outcome.status == 0, outcome.err
    screen = json.loads((tmp_path / "run.json").read_bytes())["tables"]["first_screen"]
    (slow,) = [row for row in screen if row["label"] == "SLOW"]
    assert planted.slow in slow["text"], screen
    if planted.line:
        assert planted.line in planted.text.splitlines()[slow["line"] - 1], slow
    shown = outcome.err.decode()
    assert f"SLOW    {slow['text'][:18]}" in shown
