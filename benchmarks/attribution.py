"""Measures how much of the backward time has the exact line of its forward call, by tables of truth.

Every workload that trains runs once under perfprobe at its default sizes. A row is exact if the table
(benchmarks/truth) says that its line and module may run its operator. Other rows are named below the printed
table.

    python -m benchmarks.attribution
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.overhead.tables import markdown
from benchmarks.truth.entries import Row, Truth, backward

WORKLOADS = Path(__file__).resolve().parent / "workloads"
TRAINING = ("transformer", "resnet", "language_model")


def truth_of(name: str, words: list[str]) -> Truth:
    """The table of a workload for these command line words."""
    args = importlib.import_module(f"benchmarks.workloads.{name}").parse(words)
    entries = importlib.import_module(f"benchmarks.truth.{name}").entries(args)
    return Truth(f"{name}.py", (WORKLOADS / f"{name}.py").read_text(encoding="utf-8"), entries)


def record(name: str, words: list[str], folder: Path) -> dict[str, Any]:
    """Runs a workload under perfprobe and returns the report as JSON.

    Raises:
        subprocess.CalledProcessError: the run failed.
    """
    report = folder / f"{name}.json"
    recording = folder / f"{name}.perfprobe"
    command = [sys.executable, "-m", "perfprobe", "-q", "-o", str(recording), "--json", str(report)]
    subprocess.run([*command, str(WORKLOADS / f"{name}.py"), *words], check=True, stdout=sys.stderr)
    return json.loads(report.read_text(encoding="utf-8"))


def inexact_shares(rows: list[Row], truth: Truth) -> tuple[int, Counter[str]]:
    """All backward self time in ns, and the percentage that is not exact, by reason."""
    whole_ns = sum(row["self_ns"] for row in rows)
    shares: Counter[str] = Counter()
    for row in rows:
        if not truth.is_exact(row):
            reason = row["reason"] or f"{row['operator']} at {row['file']}:{row['line']}"
            shares[reason] += 100 * row["self_ns"] / whole_ns
    return whole_ns, shares


def main() -> None:
    """Run, and print the table."""
    table, rest = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in TRAINING:
            words = ["--threads", "1"]
            rows = backward(record(name, words, Path(folder))["tables"]["hotspots"])
            whole_ns, shares = inexact_shares(rows, truth_of(name, words))
            exact = 100 - sum(shares.values())
            table.append([name, str(len(rows)), f"{whole_ns / 1e6:.0f}", f"{exact:.2f}"])
            rest += [f"{name}: {share:.2f} %: {reason}" for reason, share in shares.most_common()]
    print(markdown(["workload", "backward rows", "backward self time, ms", "exact line, %"], table))
    print("\nNot exact:", *(rest or ["nothing"]), sep="\n")


if __name__ == "__main__":
    main()
