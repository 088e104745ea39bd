"""Whether the start of DataLoader's workers is what a program waits for."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from perfprobe.report.rows.workers import LoaderRow
from perfprobe.report.section.screen.loader import worker_lines


def row(**given: int) -> LoaderRow:
    known: dict[str, Any] = dict.fromkeys((field.name for field in fields(LoaderRow)), 0)
    known |= {"workers": 2, "batches": 10, **given}
    return LoaderRow(**known)


@pytest.mark.parametrize(
    ("given", "starts", "mostly"),
    [
        ({"processes": 400, "busy_ns": 12, "waiting_ns": 88, "waited_ns": 10}, 200, True),
        ({"processes": 400, "busy_ns": 95, "waiting_ns": 5, "waited_ns": 10, "start_wait_ns": 6}, 200, True),
        ({"processes": 400, "busy_ns": 95, "waiting_ns": 5, "waited_ns": 10, "start_wait_ns": 1}, 200, False),
        ({"processes": 2, "busy_ns": 12, "waiting_ns": 88, "waited_ns": 10, "start_wait_ns": 9}, 1, False),
    ],
)
def test_workers_that_are_started_again_and_again(given: dict[str, int], starts: int, mostly: bool) -> None:
    found = row(**given)
    assert (found.starts, found.mostly_starts) == (starts, mostly)
    lines = [line.text for line in worker_lines(found)]
    assert any("persistent_workers=True" in line for line in lines) is mostly
