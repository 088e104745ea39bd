"""Traces with more of something than real ones have: what is left out is a loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.read import kineto
from perfprobe.tables.events import Losses, Threads
from tests.read.test_kineto import operator, span, written
from tests.snapshots import Snapshot


def test_threads_beyond_the_limit_are_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings are made thread by thread: with a thread for each event a report would take hours."""
    monkeypatch.setattr("perfprobe.read.kineto.names.MOST_THREADS", 3)
    events = [operator("aten::mm", n * 10.0, 5) | {"tid": n % 5} for n in range(20)]
    recording = kineto.read(written(tmp_path / "trace.json", events))
    (rows,) = recording.operators()
    assert (len(rows), len(recording[Threads])) == (12, 3)
    found = dict(zip(recording[Losses].reason, recording[Losses].count, strict=True))
    assert next(count for reason, count in found.items() if reason.startswith("threads beyond")) == 2


def test_other_categories_are_counted(tmp_path: Path, snapshot: Snapshot) -> None:
    others = [span("x", 1, 1, category) for category in ("one", "two", "one")]
    recording = kineto.read(written(tmp_path / "trace.json", [operator("aten::mm", 0, 1), *others]))
    found = dict(zip(recording[Losses].reason, recording[Losses].count, strict=True))
    lost = {reason: count for reason, count in found.items() if "category" in reason}
    assert sorted(lost.values()) == [1, 2]
    snapshot("\n".join(f"{count} {reason}" for reason, count in lost.items()))
