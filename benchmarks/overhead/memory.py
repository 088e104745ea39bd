"""What recording memory costs: blocks of steps, alternately recorded without and with it, in one process.

Like `region`, but a block with `--memory` is compared with a block that is recorded without it, so that the
ratio is the cost of `--memory` alone. Both record operators, neither records Python functions.
"""

from __future__ import annotations

from pathlib import Path

import torch

from benchmarks.overhead.observers import Observer, recording
from benchmarks.overhead.region import Case, make_cases, run_plain, run_watched
from benchmarks.overhead.tables import Spread, markdown

CASES = ("small operators", "transformer")


def without(folder: Path) -> object:
    """Operators alone."""
    return recording(folder, python="off")


def with_memory(folder: Path) -> object:
    """Operators and memory."""
    return recording(folder, python="off", memory=True)


def pairs_of(case: Case, pairs: int, folder: Path) -> list[tuple[int, int, int]]:
    """CPU ns of blocks: plain, recorded without memory, recorded with it. The latter two take turns."""
    order: list[Observer] = [without, with_memory]  # type: ignore[list-item]
    for observer in order:
        run_watched(case, observer, folder)  # the first use includes its set-up
    found = []
    for turn in range(pairs):
        plain_ns, taken = run_plain(case), {}
        for observer in order if turn % 2 == 0 else order[::-1]:
            taken[observer], _ = run_watched(case, observer, folder)
        found.append((plain_ns, taken[order[0]], taken[order[1]]))
    return found


def report(pairs: int, scale: float, folder: Path) -> list[dict[str, object]]:
    """Measure and print; returns the results."""
    torch.set_num_threads(1)
    measured: list[dict[str, object]] = []
    rows = []
    for case in make_cases(scale):
        if case.name not in CASES:
            continue
        with torch.set_grad_enabled(case.needs_grad):
            found = pairs_of(case, pairs, folder)
        rows.append(
            [
                case.name,
                Spread.of(own / plain for plain, own, _ in found).text(3),
                Spread.of(memory / plain for plain, _, memory in found).text(3),
                Spread.of(memory / own for _, own, memory in found).text(3),
            ]
        )
        measured.append({"workload": case.name, "blocks": found})
    print(f"\n### memory, {pairs} pairs, CPU time\n")
    print(
        markdown(["workload", "operators / plain", "with memory / plain", "with / without memory"], rows),
        flush=True,
    )
    return measured
