"""Steps that a program marks itself, and garbage collections, compared with the program's own times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analyse.loop.test_programs import tables

pytest.importorskip("torch")

TOLD = """\
import gc, json, time
import perfprobe, torch
own = lambda *_: None
gc.callbacks.append(own)
net = torch.nn.Linear(8, 8)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
kept = [[at] for at in range(200_000)]
took = []
for at in range(8):
    net(torch.randn(4, 8)).sum().backward()
    opt.step()
    begin = time.monotonic_ns()
    gc.collect()
    took.append(time.monotonic_ns() - begin)
    if at % 2:
        perfprobe.step()
assert gc.callbacks[-1] is own
print(json.dumps(took))
"""


def test_steps_and_collections_are_as_the_program_timed_them(tmp_path: Path) -> None:
    found, said = tables(tmp_path, TOLD)
    took = json.loads(said)
    assert [(row["source"], row["steps"]) for row in found["loops"]] == [("program", 4)]
    for at, row in enumerate(found["steps"]):
        collecting = row["phases"]["garbage collection"]
        within = sum(took[2 * at : 2 * at + 2])
        assert 0.8 * within <= collecting <= 1.2 * within
    assert "named_ranges" not in found


def test_marking_steps_works_without_a_recording() -> None:
    import perfprobe

    perfprobe.step()
    with perfprobe.step():
        pass
