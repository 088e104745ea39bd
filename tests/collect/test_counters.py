"""Counters of a program of known parts: what the kernel counts, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfprobe import _core
from perfprobe.merge import link
from perfprobe.report.rows.counters import event_rows, operator_rows, thread_rows
from perfprobe.tables import storage
from perfprobe.tables.counters import CounterFindings, Counters
from perfprobe.tables.events import Losses
from perfprobe.tables.recording import Recording
from tests.collect.test_native import REFUSED, known
from tests.found import find

__all__ = ["known"]

pytestmark = pytest.mark.skipif(REFUSED is not None, reason="; ".join(REFUSED or ()))

Known = tuple[Recording, dict[str, Any]]


def test_each_event_is_counted_or_has_a_reason(known: Known) -> None:
    recording = known[0]
    rows = event_rows(find(link(recording), CounterFindings))
    allowed = {name: why for name, _, why in _core.counter_events_allowed()}
    assert {row.event: row.is_counted for row in rows} == {name: why is None for name, why in allowed.items()}
    losses = recording[Losses]
    said = " ".join(losses.reason[losses.source == "counters"].tolist())
    for row in rows:
        assert row.is_counted or (row.reason and row.remedy and row.event in said)


def test_events_that_are_not_counted_are_never_0(known: Known) -> None:
    findings = find(link(known[0]), CounterFindings)
    refused = {row.event for row in event_rows(findings) if not row.is_counted}
    rows = thread_rows(findings) + operator_rows(findings)
    assert rows
    for row in rows:
        if "instructions" in refused:
            assert row.counts["instructions"] is None
            assert row.cpi is None
            assert row.reading == ""
        if "page-faults" not in refused:
            assert row.counts["page_faults"] is not None


def test_cpu_time_of_the_main_thread_agrees_with_its_clock(known: Known) -> None:
    recording, printed = known
    rows = recording[Counters]
    main = rows.take(recording.main_thread()[rows.thread])
    for name in ("loop", "multiply", "copy"):
        window = printed[name]
        start_ns, end_ns = window["start_ns"], window["end_ns"]
        inside = main.take((main.start_ns >= start_ns) & (main.end_ns <= end_ns))
        touching = main.take((main.start_ns < end_ns) & (main.end_ns > start_ns))
        # On a busy machine the two readings that are partly inside can be long.
        assert len(inside) >= len(touching) - 2 > 0
        assert 0.99 * int(inside.cpu_ns.sum()) <= window["cpu_ns"] <= 1.01 * int(touching.cpu_ns.sum())


def test_the_product_has_counts_of_its_own(known: Known) -> None:
    rows = operator_rows(find(link(known[0]), CounterFindings))
    product = next((row for row in rows if row.operator == "aten::mm"), None)
    # Its calls are shorter than the time between two readings. Several together fill it.
    assert product is not None
    assert product.line is not None
    assert product.line.file.endswith("known_parts.py")


def test_a_recording_without_counters_has_none(tmp_path: Path) -> None:
    path = tmp_path / "empty.perfprobe"
    _core.Recorder(str(path)).close()
    assert CounterFindings not in find(link(storage.read(path)), CounterFindings)
