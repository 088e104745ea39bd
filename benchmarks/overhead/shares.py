"""Each operator's share of the self time by perfprobe and by torch.profiler, in alternating runs.

Only one records at a time, because two observers in one run add their cost to each other's intervals. Ranges
set by the program or torch (record_function) are left out on both sides.

    python -m benchmarks.overhead.shares --rounds 7
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch

import perfprobe
from benchmarks.overhead.observers import torch_profiler
from benchmarks.overhead.tables import Spread, markdown
from benchmarks.workloads import transformer
from perfprobe.results import Results
from perfprobe.support.view import View

Shares = dict[str, float]


def normalise(self_times: Counter[str]) -> Shares:
    """Shares of the sum in percent, by operator name."""
    whole = sum(self_times.values())
    return {name: 100 * time / whole for name, time in self_times.items()}


def by_perfprobe(run: Callable[[], object], folder: Path) -> Shares:
    """The shares of one recorded run."""
    path = folder / "shares.perfprobe"
    with perfprobe.profile(path):
        run()
    times: Counter[str] = Counter()
    for row in Results(str(path)).document(View())["tables"]["hotspots"]:
        if row["share"] is not None:
            times[row["operator"]] += row["self_ns"]
    path.unlink()
    return normalise(times)


def by_torch_profiler(run: Callable[[], object]) -> Shares:
    """The shares of one profiled run."""
    with torch_profiler(record_shapes=True) as profiler:
        run()
    rows = profiler.key_averages()  # type: ignore[attr-defined]
    return normalise(
        Counter({row.key: row.self_cpu_time_total for row in rows if not row.is_user_annotation})
    )


def table(ours: list[Shares], theirs: list[Shares], top: int) -> str:
    """The operators with the largest shares, their spreads, and the differences of the medians."""
    names = {name for shares in [*ours, *theirs] for name in shares}
    spreads = {
        name: [Spread.of(shares.get(name, 0.0) for shares in runs) for runs in (ours, theirs)]
        for name in names
    }
    ordered = sorted(names, key=lambda name: -spreads[name][0].median)[:top]
    rows = []
    for name in ordered:
        mine, other = spreads[name]
        rows.append([name, mine.text(1), other.text(1), f"{mine.median - other.median:+.1f}"])
    return markdown(["operator", "perfprobe, %", "torch.profiler, %", "difference, points"], rows)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="operator shares of perfprobe beside torch.profiler")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3, help="training steps in a run")
    parser.add_argument("--top", type=int, default=15)
    args = parser.parse_args()
    torch.set_num_threads(1)
    training = transformer.build(transformer.parse([]))

    def run() -> None:
        for _ in range(args.steps):
            training.step()

    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        by_perfprobe(run, Path(folder))  # the first run of each includes its set-up
        by_torch_profiler(run)
        for _ in range(args.rounds):
            ours.append(by_perfprobe(run, Path(folder)))
            theirs.append(by_torch_profiler(run))
    print(table(ours, theirs, args.top))


if __name__ == "__main__":
    main()
