"""SLOW names the bottleneck planted in a program."""

from pathlib import Path

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.collect.runs import perfprobe
from tests.planted.programs import PLANTED, Planted

pytest.importorskip("torch")

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_slow_names_the_planted_bottleneck(planted: Planted, tmp_path: Path) -> None:
    outcome = perfprobe(["-q", "-o", "run.perfprobe", *planted.write(tmp_path)], tmp_path)
    assert outcome.status == 0, outcome.err
    results = Results(str(tmp_path / "run.perfprobe"))
    screen = results.document(View())["tables"]["first_screen"]
    (slow,) = [row for row in screen if row["label"] == "SLOW"]
    assert planted.slow in slow["text"], screen
    if planted.line:
        assert planted.line in planted.text.splitlines()[slow["line"] - 1], slow
    assert f"SLOW    {slow['text'][:18]}" in results.text(View())
