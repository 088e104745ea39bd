"""Workers: proposed if the loop makes its batches itself and a processor is idle; never as peers do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.tables.advice import Check
from perfprobe.tables.workers import Loaders, WorkerFindings, Workers
from tests.diagnose.advice.made import (
    NEXT,
    NEXT_OF_WORKERS,
    Part,
    advised,
    changes,
    judged,
    processors,
    program,
    untold,
)

SOURCE = [
    *("import torch", "from torch.utils.data import DataLoader", "", "", "", "def main():"),
    "    loader = DataLoader(ds, batch_size=32)",
    "    test = DataLoader(other, batch_size=1)",
    *[""] * 11,
    "    for x, y in loader:",
    "        step(x, y)",
]


def loads(ms: float) -> Part:
    return Part(NEXT, ms, 20, scope=7)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_workers_are_proposed_with_the_code_of_the_loader_that_the_loop_is_over(here: Path) -> None:
    made = program(loads(46), folder=str(here), source=SOURCE)
    change = advised(made, here, processors(4, 1))["workers"]
    assert change.snippet.endswith("batch_size=32, num_workers=2)")
    assert change.line is not None
    assert (change.line.line, change.tries) == (7, ("workers=1", "workers=2"))
    assert (change.check, change.what) == (Check.SAME_BITS, "num_workers=2")
    assert change.share == pytest.approx(0.46, abs=0.01)


def test_without_the_source_the_code_has_no_names(tmp_path: Path) -> None:
    change = advised(program(loads(46)), tmp_path, processors(4, 1))["workers"]
    assert (change.snippet, change.line) == ("DataLoader(..., num_workers=2)", None)


@pytest.mark.parametrize(
    ("allowed", "used", "others", "says"),
    [(4, 1, 0, "yes"), (4, 3.7, 0, "no"), (4, 1, 2.9, "cannot tell"), (1, 0.95, 0, "no")],
)
def test_workers_need_an_idle_processor(
    tmp_path: Path, allowed: float, used: float, others: float, says: str
) -> None:
    findings = judged(program(loads(46)), tmp_path, processors(allowed, used, others))
    said = ("workers" in changes(findings), "workers" in untold(findings))
    assert said == (says == "yes", says == "cannot tell")


@pytest.mark.parametrize(("ms", "is_said"), [(0, False), (2, False), (4, True)])
def test_little_or_no_loading_needs_no_workers(tmp_path: Path, ms: float, is_said: bool) -> None:
    parts = [loads(ms)] if ms else []
    assert ("workers" in advised(program(*parts), tmp_path, processors(4, 1))) is is_said


@pytest.mark.parametrize(("batches", "is_said"), [(50, True), (200, False)])
def test_receiving_costs_more_than_small_batches(tmp_path: Path, batches: int, is_said: bool) -> None:
    part = loads(46)._replace(calls=batches)
    assert ("workers" in advised(program(part), tmp_path, processors(4, 1))) is is_said


def test_batches_that_no_loader_makes_need_no_workers(tmp_path: Path) -> None:
    made = program(Part("aten::randn", 46, 20))
    assert "workers" not in advised(made, tmp_path, processors(4, 1))


@pytest.mark.parametrize(("shares", "is_said"), [("", False), ("get_worker_info()", True)])
def test_a_stream_that_does_not_share_its_items_needs_no_workers(
    here: Path, shares: str, is_said: bool
) -> None:
    source = [*SOURCE, f"class Stream(IterableDataset): pass  # {shares}"]
    made = program(loads(46), folder=str(here), source=source)
    assert ("workers" in advised(made, here, processors(4, 1))) is is_said


def with_workers(folder: Path, next_ms: float = 40, **given: int) -> dict[str, Any]:
    known: dict[str, Any] = {"workers": 2, "processes": 2, "batches": 10, "span_ns": 800, "waited_ns": 400}
    known |= {"busy_ns": 800, "most_gain_ns": 200, **given}
    columns = {name: np.array([known.get(name, 0)], dtype) for name, dtype in Loaders.dtypes.items()}
    children = WorkerFindings(Workers.empty(), Loaders(**columns), 2.0, 4.0)
    return advised(program(Part(NEXT_OF_WORKERS, next_ms, 20, scope=7)), folder, children)


@pytest.mark.parametrize(
    ("given", "rule", "tries"),
    [
        ({}, "more-workers", ("workers=3",)),
        ({"most_gain_ns": 4}, None, ()),
        ({"queued_ppm": 600_000}, None, ()),
        ({"waited_ns": 0}, None, ()),
        ({"queued_ppm": 2_000_000, "waiting_ns": 9_000}, "receiving", ("workers=0",)),
        ({"queued_ppm": 2_000_000, "waiting_ns": 100}, None, ()),
        (
            {"processes": 8, "waiting_ns": 900, "start_wait_ns": 300_000_000},
            "persistent-workers",
            ("persistent-workers",),
        ),
        ({"processes": 8, "waiting_ns": 900, "start_wait_ns": 3_000_000}, None, ()),
        ({"processes": 2, "waiting_ns": 900, "start_wait_ns": 300_000_000}, "more-workers", ("workers=3",)),
    ],
)
def test_loaders_with_workers(
    tmp_path: Path, given: dict[str, int], rule: str | None, tries: tuple[str, ...]
) -> None:
    found = with_workers(tmp_path, **given)
    known = ("more-workers", "receiving", "persistent-workers", "workers")
    assert [each for each in found if each in known] == ([rule] if rule else [])
    if rule:
        assert found[rule].tries == tries
