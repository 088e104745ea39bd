"""The workloads at tiny sizes, each recorded once for all tests through the real command."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.attribution import WORKLOADS, truth_of
from benchmarks.truth.entries import Row, Truth
from tests.collect.runs import perfprobe

TRANSFORMER = "--epochs=1 --steps=2 --batch=2 --length=8 --width=16 --inner-width=32 --heads=2 --layers=2"
ARGUMENTS = {
    "transformer": TRANSFORMER,
    "resnet": "--epochs=1 --images=4 --batch=2 --size=16 --width=4",
    "language_model": "--epochs=1 --windows=2 --window=3 --batch=2 --words=11 --width=8",
    "small_operators": "--steps=7",
    "preprocessing": "--batches=2 --batch=3 --length=10",
}


@dataclass(frozen=True)
class Recorded:
    """A workload's output, its report, and its table of truth."""

    out: str
    report: dict[str, Any]
    truth: Truth

    @property
    def rows(self) -> list[Row]:
        """The table of operators."""
        return self.report["tables"]["hotspots"]


def words_of(name: str) -> list[str]:
    """The workload's arguments."""
    return [*ARGUMENTS[name].split(), "--threads=1"]


def record(name: str, folder: Path) -> Path:
    """Runs a workload under perfprobe in this folder. Skips the test if its C++ cannot be compiled."""
    words = ["-q", "--json", "report.json", str(WORKLOADS / f"{name}.py"), *words_of(name)]
    outcome = perfprobe(words, folder)
    assert outcome.status == 0, outcome.err.decode()
    if outcome.out.startswith(b"window_mean is composed"):
        pytest.skip(outcome.out.decode().splitlines()[0])
    (folder / "printed").write_bytes(outcome.out)
    return folder


def read(name: str, folder: Path) -> Recorded:
    """Reads the files of `record`."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return Recorded((folder / "printed").read_text(encoding="utf-8"), report, truth_of(name, words_of(name)))
