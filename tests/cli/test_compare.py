"""`perfprobe compare` from end to end: what is read, printed, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfprobe.cli import main
from tests.test_comparing import changed
from tests.versions import BASE, Version, folders


@pytest.fixture
def slower(tmp_path: Path) -> list[str]:
    return folders(tmp_path, BASE, changed(0, ms=8))


def single(tmp_path: Path) -> list[str]:
    after = Version(changed(0, ms=60, number=2))
    return [str(Version().write(tmp_path / "x.perfprobe")), str(after.write(tmp_path / "y.perfprobe"))]


def test_a_passed_a_failed_and_an_undecided_limit(slower: list[str], tmp_path: Path) -> None:
    assert main(["compare", *slower]) == 0
    assert main(["compare", *slower, "--fail-on", "step>30%"]) == 0
    assert main(["compare", *slower, "--fail-on", "step>3%", "--fail-on", "dtype"]) == 5
    one = single(tmp_path)
    assert main(["compare", *one, "--fail-on", "step>3%"]) == 0
    assert main(["compare", *one, "--fail-on", "step>3%", "--fail-on-unknown"]) == 5
    assert main(["compare", *one, "--fail-on", "calls>0"]) == 5


def test_too_few_pairs_pass_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = folders(tmp_path, BASE, changed(0, ms=60), runs=4)
    assert main(["compare", *few, "--fail-on", "step>3%"]) == 0
    assert "5 are needed" in capsys.readouterr().out
    assert main(["compare", *few, "--fail-on", "step>3%", "--fail-on-unknown"]) == 5


def test_a_version_without_steps_cannot_be_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(Version(steps=n).write(tmp_path / f"{n}.perfprobe")) for n in (12, 0)]
    assert main(["compare", *paths, "--fail-on", "step>3%"]) == 0
    assert "cannot tell" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--fail-on", "step"], ["--fail-on", "spep>3%"], ["--format", "xml"]])
def test_bad_words_are_one_line(
    slower: list[str], words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *slower, *words]) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("number", [0, 1, 3])
def test_two_versions_are_needed(slower: list[str], number: int) -> None:
    assert main(["compare", *[*slower, slower[0]][:number]]) == 2


def test_a_file_that_is_no_recording(tmp_path: Path, slower: list[str]) -> None:
    (tmp_path / "x.perfprobe").write_bytes(b"nothing")
    assert main(["compare", slower[0], str(tmp_path / "x.perfprobe")]) == 3
    assert main(["compare", slower[0], str(tmp_path / "missing")]) == 2


def test_json_has_the_gates(slower: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *slower, "--json", "--fail-on", "step>3%"]) == 5
    found = json.loads(capsys.readouterr().out)
    assert found["gates"] == [{"gate": "step>3%", "outcome": "failed", "why": found["gates"][0]["why"]}]


def test_github_gets_annotations_and_a_summary(
    slower: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["compare", *slower, "--format", "github", "--fail-on", "step>3%"]) == 5
    assert capsys.readouterr().out.startswith("::error file=model.py,line=15,")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n**")
    assert main(["compare", *slower, "--format", "markdown"]) == 0
    assert summary.read_text(encoding="utf-8") == text
