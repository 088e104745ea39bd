"""`perfprobe explain` on the command line."""

from __future__ import annotations

import pytest

from perfprobe.cli import main
from tests.snapshots import Snapshot


def test_a_word_is_explained_with_its_place_and_guide(
    capsys: pytest.CaptureFixture[str], snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["explain", "of", "limit"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 60
    snapshot(out)


def test_without_a_word_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    for word in ("tottime", "memory-bound", "losses", "TRUST", "poorly parallel", "own time"):
        assert word in out


def test_an_unknown_word_is_reported_with_similar_words(
    capfd: pytest.CaptureFixture[str], snapshot: Snapshot
) -> None:
    assert main(["explain", "slef"]) == 2
    found = capfd.readouterr()
    assert found.out == ""
    assert found.err.count("\n") == 1
    snapshot(found.err)


@pytest.mark.parametrize("mark", ["-", "~", "<"])
def test_a_mark_is_explained_and_not_taken_as_an_option(
    mark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", mark]) == 0
    assert capsys.readouterr().out.startswith(f"{mark}: mark\n")
