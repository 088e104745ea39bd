from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from perfprobe.report.render.text import page
from perfprobe.report.section.machine import ceilings, document
from tests.bench.machines import machine

NOW = datetime(2026, 1, 2, 12, 15, tzinfo=timezone.utc)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_fit_the_width(width: int) -> None:
    for line in page(ceilings(machine(), NOW), width=width).splitlines():
        assert len(line) <= max(width, 78)


def test_numbers_are_in_their_columns() -> None:
    text = page(ceilings(machine(), NOW), width=80)
    rows = [line.split() for line in text.splitlines()]
    assert ["1", "f32", "100", "GFLOP/s", "83.3", "%", "120", "GFLOP/s", "vfmadd231ps", "zmm"] in [
        row[:10] for row in rows
    ]
    assert ["2", "f16", "3.00", "GFLOP/s", "-", "-", "-"] in [row[:7] for row in rows]
    assert any(row[:4] == ["4.00", "MiB", "90.0", "GB/s"] and row[-1] == "LLC" for row in rows)
    assert ["exp", "1.20", "G/s"] in rows
    assert any(row[:3] == ["dispatch", "950", "ns"] for row in rows)
    assert "isa peak tdpbf16ps: the processor has no amx-bf16" in text


def test_the_age_of_ceilings_is_shown() -> None:
    assert "measured in 41.0 s at 2026-01-02 10:15, 2 h 00 min ago" in page(ceilings(machine(), NOW))
    assert "measured in 41.0 s" in page(ceilings(replace(machine(), measured="yesterday"), NOW))


@pytest.mark.parametrize(
    ("noise", "contention", "says"),
    [(0.05, 1.0, ""), (0.05, 2.5, "Other programs ran here"), (0.4, 1.0, "This machine was noisy")],
)
def test_a_noisy_machine_causes_a_warning(noise: float, contention: float, says: str) -> None:
    text = page(ceilings(machine(noise=noise, contention=contention), NOW))
    assert ("perfprobe machine --again" in text) == bool(says)
    assert says in text


def test_control_characters_in_names_are_escaped() -> None:
    assert "\x1b" not in page(ceilings(machine("evil\x1b[2J\n"), NOW))


def test_the_json_of_a_machine() -> None:
    made = json.loads(json.dumps(document(machine()), allow_nan=False))
    assert made["schema"] == 1
    assert made["meta"]["name"] == "A processor"
    first = made["tables"]["ceilings"][0]
    assert (first["kind"], first["rate"], first["rate_low"], first["rate_high"]) == (
        "gemm", 1e11, 0.98e11, 1.03e11,
    )  # fmt: skip
    assert made["tables"]["levels"][0] == {"level": "LLC", "footprint_bytes": 4 << 20}
    assert made["losses"][0]["source"] == "isa peak tdpbf16ps"
