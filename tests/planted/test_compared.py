"""A line of a real program that got slower by a known amount is found, with the amount."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe import comparing
from perfprobe.comparing import Side
from perfprobe.diagnose.changes import changes
from perfprobe.models.compared import Comparison
from perfprobe.runs import Run

PROGRAM = """\
import time
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(64, 64), torch.nn.Linear(64, 8)

    def forward(self, x):
        x = self.a(x).relu()
        x = rest(x, {pause})
        return self.b(x)

def rest(x, pause):
    time.sleep(0.001 + pause)
    return x

torch.set_num_threads(1)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(16):
    optimizer.zero_grad()
    net(torch.ones(32, 64)).sum().backward()
    optimizer.step()
"""
MOVED = PROGRAM.replace("import torch\n", "import torch\n\n# what follows\n# was moved\n")


def recorded(folder: Path, text: str) -> Run:
    folder.mkdir()
    (folder / "train.py").write_text(text, encoding="utf-8")
    path = folder / "run.perfprobe"
    words = [sys.executable, "-m", "perfprobe", "-q", "--no-config", "-o", str(path), "train.py"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=240)
    return Run(str(path))


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Run:
    pytest.importorskip("torch")
    return recorded(tmp_path_factory.mktemp("before") / "a", PROGRAM.format(pause=0))


def compare(before: Run, folder: Path, after: str) -> Comparison:
    return comparing.compared(Side("a", [before]), Side("b", [recorded(folder / "b", after)]))


@pytest.mark.slow
def test_a_slower_line_that_moved(before: Run, tmp_path: Path) -> None:
    found = compare(before, tmp_path, MOVED.format(pause=0.02))
    where = changes(found).where
    assert where is not None
    assert where.part.path == "train.py"
    assert where.part.line == 18
    assert where.by_ns == pytest.approx(20e6, rel=0.15)
    sleeping = [row for row in where.rows if row.part.line == 18]
    assert {row.match.value for row in sleeping} == {"same"}
    known_ns = sum(row.time_ns.by for row in found.rows)
    assert found.step_ns is not None
    assert found.unattributed_ns is not None
    assert known_ns + found.unattributed_ns == pytest.approx(found.step_ns.by)


@pytest.mark.slow
def test_an_operator_that_is_called_twice(before: Run, tmp_path: Path) -> None:
    after = PROGRAM.replace("x = self.a(x).relu()", "x = self.a(self.a(x)).relu()")
    found = compare(before, tmp_path, after.format(pause=0))
    more = [row for row in found.rows if row.part.operator == "aten::addmm" and row.part.line == 10]
    assert [(row.calls.before, row.calls.after, row.match.value) for row in more] == [(1, 2, "edited")]
    counts = {each.name: each for each in found.counts}
    assert counts["operator calls"].differs
    assert counts["operator calls"].is_certain
