"""Range names that exist only during a call: the next may have the same address and differ in one letter."""

import random
from pathlib import Path

import torch

from tests.collect.recorded import record


def test_names_at_one_address_are_distinguished(tmp_path: Path) -> None:
    rng = random.Random(0)
    names = []
    for length in range(1, 42):
        name = "".join(rng.choices("abc", k=length))
        for place in {0, length // 2, length - 1}:
            names += [name, name[:place] + "d" + name[place + 1 :], name[: place + 1]]
    rng.shuffle(names)

    def run() -> None:
        for name in names:
            with torch.profiler.record_function(name):
                pass

    found = [row.name for row in record(tmp_path / "run.perfprobe", run) if row.scope == 7]  # USER_SCOPE
    assert found == names
