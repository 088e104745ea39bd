from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from perfprobe.report.render.text import page
from perfprobe.report.section.machine import ceilings, document
from tests.bench.machines import machine
from tests.snapshots import Snapshot

NOW = datetime(2026, 1, 2, 12, 15, tzinfo=timezone.utc)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_fit_the_width(width: int) -> None:
    for line in page(ceilings(machine(), NOW), width=width).splitlines():
        assert len(line) <= max(width, 78)


def test_numbers_are_in_their_columns(snapshot: Snapshot) -> None:
    snapshot(page(ceilings(machine(), NOW), width=80))


def test_the_age_of_ceilings_is_shown(snapshot: Snapshot) -> None:
    heads = [
        page(ceilings(replace(machine(), measured=when), NOW), width=80).splitlines()
        for when in (machine().measured, "yesterday")
    ]
    snapshot("\n".join(line for lines in heads for line in lines if "measured in" in line))


def test_a_noisy_machine_causes_a_warning(snapshot: Snapshot) -> None:
    quiet = page(ceilings(machine(noise=0.05, contention=1.0), NOW)).splitlines()
    assert not any("--again" in line for line in quiet)
    warnings = []
    for noise, contention in ((0.05, 2.5), (0.4, 1.0)):
        text = page(ceilings(machine(noise=noise, contention=contention), NOW))
        warnings += [line for line in text.splitlines() if line not in quiet]
    assert len(warnings) >= 2
    snapshot("\n".join(warnings))


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
    assert made["missing"][0]["source"] == "isa peak tdpbf16ps"
