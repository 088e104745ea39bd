"""The history of versions: lines that are kept and read again, and gains against those computed by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import exp, log
from pathlib import Path

import pytest

from perfprobe.cli import main
from perfprobe.experiment.history import lines_of, record
from perfprobe.experiment.pairs import Asked, Pairs
from perfprobe.experiment.rounds import Ran
from perfprobe.experiment.variant import Variant
from perfprobe.models.paired import difference, interval
from perfprobe.report.rows.history import history_rows
from perfprobe.support.errors import InputError
from perfprobe.tables.history import HistoryLine, parse
from perfprobe.tables.run_value import RunValue
from tests.analyse.account.test_account import MS, Training
from tests.snapshots import Snapshot


def pairs(folder: Path, names: Sequence[str], before: Sequence[float], after: Sequence[float]) -> Pairs:
    """Pairs whose steps took so many ms."""
    path = Training(wait_ms=2).program.recording(folder).path
    runs = [
        tuple(
            Ran(variant=at, path=path, value=RunValue(steps=9, own_ns=own_ms * MS, wall_ns=1, start_up_ns=7))
            for at, own_ms in enumerate(pair)
        )
        for pair in zip(before, after, strict=True)
    ]
    variants = tuple(
        Variant(name=name, words=("train.py",), commit="" if name == "WORK" else name * 10) for name in names
    )
    made = difference(before, after)
    return Pairs(
        variants=variants,  # type: ignore[arg-type]
        asked=Asked(),
        measured=tuple(runs),  # type: ignore[arg-type]
        with_rows=(),
        difference=made,
        added=None,
    )


FIRST = [100.0, 101.0, 99.0, 100.5, 99.5]
SECOND = [50.0, 50.3, 49.8, 50.1, 49.9]


def test_a_version_is_kept_once_and_gains_are_chained(tmp_path: Path) -> None:
    path = str(tmp_path / "history.jsonl")
    record(pairs(tmp_path, ["a", "b"], FIRST, SECOND), path, None)
    record(pairs(tmp_path, ["b", "WORK"], SECOND, FIRST), path, "slower again")
    lines = lines_of([path])
    assert [line.label for line in lines] == ["a", "b", "slower again"]
    assert [(line.runs, line.start_up_ns, line.step_ns) for line in lines[:1]] == [(5, 7, 100 * MS)]
    rows = history_rows(lines)
    assert [row.gain and row.gain.is_certain for row in rows] == [None, True, True]
    gain, back = rows[1].gain, rows[2].of_first
    assert gain is not None
    assert back is not None
    assert gain.times == pytest.approx(exp(sum(log(a / b) for a, b in zip(FIRST, SECOND, strict=True)) / 5))
    assert back.times == pytest.approx(1)
    assert not back.is_certain
    _, low, high = interval([log(a / b) for a, b in zip(FIRST, SECOND, strict=True)])
    assert low is not None
    assert high is not None
    assert back.high == pytest.approx(exp(2**0.5 * (high - low) / 2))  # two errors of the same size


def test_versions_that_were_not_compared_are_never_certain(tmp_path: Path) -> None:
    path = str(tmp_path / "history.jsonl")
    record(pairs(tmp_path, ["a", "b"], FIRST, SECOND), path, None)
    record(pairs(tmp_path, ["c", "d"], FIRST, SECOND), path, None)
    rows = history_rows(lines_of([path]))
    assert [row.gain.is_certain for row in rows[1:] if row.gain] == [True, False, True]
    assert [row.of_first.is_certain for row in rows[1:] if row.of_first] == [True, False, False]


def test_the_table(tmp_path: Path, snapshot: Snapshot, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "history.jsonl")
    record(pairs(tmp_path, ["a", "b"], FIRST, SECOND), path, None)
    record(pairs(tmp_path, ["b", "WORK"], SECOND, FIRST), path, "slower again")
    record(pairs(tmp_path, ["c", "d"], SECOND, SECOND), path, None)
    assert main(["history", path]) == 0
    text = capsys.readouterr().out
    assert main(["history", path, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["gain"] and row["gain"]["is_certain"] for row in document["tables"]["history"]] == [
        *(None, True, True, False, False)
    ]
    snapshot(text)


def test_recordings_are_a_line_each_by_time(tmp_path: Path) -> None:
    for name, late_ms in (("a", 0), ("b", 10)):
        (tmp_path / name).mkdir()
        made = Training(late_ms=late_ms).program.recording(tmp_path / name)
        Path(made.path).rename(tmp_path / f"{name}.perfprobe")
    lines = lines_of([str(tmp_path)])
    assert [(line.label, line.step_ns / MS, line.runs) for line in lines] == [
        ("a.perfprobe", 20, 1),
        ("b.perfprobe", 22, 1),
    ]


LINE = json.loads(HistoryLine(label="a", step_ns=5.0).json())


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "7",
        json.dumps({**LINE, "schema": 2}),
        json.dumps({**LINE, "step_ns": "5"}),
        json.dumps({**LINE, "step_ns": -5}),
        json.dumps({**LINE, "label": "a" * 1000}),
        json.dumps({**LINE, "unknown": 1}),
        json.dumps({**LINE, "against": {"label": "b"}}),
        json.dumps({**LINE, "against": 7}),
        json.dumps(LINE).replace("5.0", "NaN"),
        "[" * 100_000,
    ],
)
def test_what_is_no_line_is_refused(text: str) -> None:
    assert parse([json.dumps(LINE), "\n"], "file") == [HistoryLine(label="a", step_ns=5.0)]
    with pytest.raises(InputError, match="file:2"):
        parse([json.dumps(LINE), text], "file")


def test_a_folder_without_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["history", str(tmp_path)]) == 3
    assert len(capfd.readouterr().err.splitlines()) == 1
