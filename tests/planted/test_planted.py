"""SLOW names the bottleneck planted in a program."""

from pathlib import Path

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.collect.runs import perfprobe
from tests.collect.together import run
from tests.planted.programs import PLANTED

pytest.importorskip("torch")

pytestmark = pytest.mark.slow


# They are seen beside a start-up. The others are blocks of one program.
ALONE = ("import", "nothing", "loader")


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("blocks")
    run(folder, {name: (each.text, "saved.pt") for name, each in PLANTED.items() if name not in ALONE})
    return folder


@pytest.mark.parametrize("name", PLANTED)
def test_slow_names_the_planted_bottleneck(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    planted = PLANTED[name]
    if name in ALONE:
        outcome = perfprobe(["-q", "-o", f"{name}.perfprobe", *planted.write(tmp_path)], tmp_path)
        assert outcome.status == 0, outcome.err
    folder = tmp_path if name in ALONE else request.getfixturevalue("blocks")
    results = Results(str(folder / f"{name}.perfprobe"))
    screen = results.document(View())["tables"]["first_screen"]
    (slow,) = [row for row in screen if row["label"] == "SLOW"]
    assert planted.slow in slow["text"], screen
    if planted.line:
        assert planted.line in planted.text.splitlines()[slow["line"] - 1], slow
    assert f"SLOW    {slow['text'][:18]}" in results.text(View())
