"""Several runs of bench: what is kept, and what is reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perfprobe import measuring
from perfprobe.bench import measure
from perfprobe.bench.measure import BenchSettings
from perfprobe.models.verdicts import KINDS
from perfprobe.tables import measured_file
from perfprobe.tables.measurements import Measurements
from tests.report.measured import absent, bernoulli, bmm, measured


def saved(folder: Path, found: Measurements, known: Measurements | None) -> Measurements:
    task = measuring.Task((), str(folder / "run.perfprobe"), "identity", known=known)
    path = measuring.save(task, found, None)
    assert path is not None
    return measured_file.read(path, "identity", KINDS)


def test_calls_of_an_earlier_run_are_kept(tmp_path: Path) -> None:
    again = bmm(processes=1)
    both = saved(tmp_path, measured(again, left_out_share=0.94), measured(bernoulli(), bmm(), absent()))
    names = [row.wanted.operator for row in both.rows]
    assert names == ["aten::bernoulli_.float", "aten::bmm", "mine::window"]
    assert both.rows[1].processes == 1
    assert both.left_out_share == pytest.approx(1 - 0.16 - 0.06 - 0.05)


def test_a_call_with_another_number_of_threads_replaces_the_old_one(tmp_path: Path) -> None:
    other = replace(bmm(), wanted=replace(bmm().wanted, threads=1))
    assert [row.wanted.threads for row in saved(tmp_path, measured(other), measured(bmm())).rows] == [1]


def test_calls_of_another_machine_are_dropped(tmp_path: Path) -> None:
    known = replace(measured(bernoulli()), machine="another")
    assert len(saved(tmp_path, measured(bmm()), known).rows) == 1
    elsewhere = measuring.Task((), "run.perfprobe", "identity", known=measured(bernoulli()))
    path = measuring.save(elsewhere, measured(bmm()), str(tmp_path / "named.json"))
    assert path is not None
    assert len(measured_file.read(path, "identity", KINDS).rows) == 1


def test_more_threads_than_processors_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    row = replace(bmm(), wanted=replace(bmm().wanted, threads=5000))
    monkeypatch.setattr(measure, "measure", lambda *_, **__: measured(row, notes=()))
    found = measuring.measured(measuring.Task(()), BenchSettings(), lambda *_: None)
    assert found.notes[0].startswith("5000 threads took turns on ")
