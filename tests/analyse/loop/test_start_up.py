"""What a program does before its first step, compared with its own times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analyse.loop.test_programs import tables

pytest.importorskip("torch")

PROGRAM = """\
import json, subprocess, sys, time
took = {}
begin = time.monotonic_ns()
import torch
took["import"] = time.monotonic_ns() - begin
def timed(part, run):
    begin = time.monotonic_ns()
    run()
    took[part] = time.monotonic_ns() - begin
def work():
    until = time.monotonic_ns() + 600_000_000
    while time.monotonic_ns() < until:
        pass
class Net(torch.nn.Linear):
    def __init__(self):
        super().__init__(8, 8)
        work()
def sleep():
    time.sleep(0.6)
def child():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(1.2)"], check=True)
for part, run in {"model": Net, "other": work, "waiting": sleep, "children": child}.items():
    timed(part, run)
net = torch.nn.Linear(8, 8)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(4, 8)
took["all"] = time.monotonic_ns() - begin
for _ in range(5):
    net(x).sum().backward()
    opt.step()
def later():
    work()
timed("after", later)
print(json.dumps(took))
"""


def test_parts_of_start_up_are_as_the_program_timed_them(tmp_path: Path) -> None:
    found, said = tables(tmp_path, PROGRAM)
    took = json.loads(said)
    after_ns, after = took.pop("after"), found["after_steps"]
    assert "work" in {row["function"] for row in after}
    assert 0.85 * after_ns <= sum(row["time_ns"] for row in after) <= 1.15 * after_ns + 500_000_000
    rows = [row for row in found["start_up"] if row["part"] != "import" or row["by"] is None]
    known = {row["part"]: row["time_ns"] for row in reversed(rows)}
    rest_ns = took.pop("all") - sum(took.values())  # on a busy machine the program waits between the parts
    for part, time_ns in took.items():
        assert 0.85 * time_ns <= known[part] <= 1.15 * time_ns + 100_000_000 + rest_ns, (part, known, took)
    slow = next(row for row in found["first_screen"] if row["label"] == "SLOW")
    assert slow["text"].startswith("waiting for child processes, 1.")
    assert (slow["line"], slow["function"]) == (known_line(PROGRAM, "subprocess.run"), "child")


def known_line(program: str, text: str) -> int:
    return next(number for number, line in enumerate(program.splitlines(), 1) if text in line)
