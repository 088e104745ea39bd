"""Bytes and lines of real calls, compared with the addresses of their operands and results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from perfprobe.models.work import Work, work
from tests.collect.recorded import Row, record
from tests.models import brute
from tests.models.calls import CASES as USUAL
from tests.models.calls import Case
from tests.models.selecting_calls import CASES as SELECTING

CASES = [*USUAL, *SELECTING]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Case, Row, Any]]:
    """Every call as it was recorded, with its results."""
    path: Path = tmp_path_factory.mktemp("calls") / "run.perfprobe"
    results: list[Any] = []

    @torch.no_grad()
    def run() -> None:
        results.extend(case.operator(*case.arguments, **case.keywords) for case in CASES)

    rows = iter([row for row in record(path, run) if row.depth == 0])
    own = [next(row for row in rows if operator(row) == case.name) for case in CASES]
    return list(zip(CASES, own, results, strict=True))


def operator(row: Row) -> str:
    return f"{row.name}.{row.overload}".rstrip(".")


def model(row: Row) -> Work | None:
    return work(operator(row), row.signature)


@pytest.mark.parametrize("place", range(len(CASES)), ids=[case.name for case in CASES])
def test_reads_and_writes_equal_the_addresses(place: int, recorded: list[tuple[Case, Row, Any]]) -> None:
    case, row, result = recorded[place]
    found = model(row)
    assert found is not None, row.signature
    operands = [*brute.tensors(list(case.arguments)), *brute.tensors(list(case.keywords.values()))]
    reads = sum(map(brute.distinct_bytes, operands)) if case.reads is None else case.reads
    results = list(brute.tensors(result)) or list(brute.tensors(case.arguments[0]))  # foreach returns nothing
    writes = sum(map(brute.distinct_bytes, results)) if case.writes is None else case.writes
    assert (found.read_bytes, found.write_bytes) == (reads, writes), row.signature
    assert found.footprint_bytes <= reads + writes <= found.line_bytes
    assert found.in_place == (found.footprint_bytes < reads + writes)
    if case.reads is None and case.writes is None:
        assert found.line_bytes == sum(map(brute.line_bytes, (*operands, *results))), row.signature
