"""Mutated real traces, as `python -m tests.read.mutated` makes them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from tests.analyse.test_gpu_traces import folder
from tests.read import mutated


def test_a_few_mutated_real_traces(tmp_path: Path) -> None:
    """The full reports of them; `python -m tests.read.mutated` tries 3,000."""
    rng, traces, path = random.Random(3), mutated.bases(folder()), tmp_path / "trace.json"
    seen = Counter[str]()
    for _ in range(8):
        path.write_bytes(mutated.mutated(rng.choice(traces), rng))
        seen[mutated.outcome(path)] += 1
    assert seen.keys() <= {"report", "InputError"}
