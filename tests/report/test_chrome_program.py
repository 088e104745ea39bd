"""The trace of a whole program: training with autograd, and a GPU that a stand-in for libcupti simulates."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.read import kineto
from perfprobe.results import Results
from perfprobe.tables import storage
from tests.collect.runs import perfprobe
from tests.collect.standin import OPERATORS, environment
from tests.report.test_chrome import spans
from tests.report.traced import differences, document

pytest.importorskip("torch")

PROGRAM = """
import perfprobe
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for _ in range(4):
    optimizer.zero_grad()
    with perfprobe.range("on the GPU"), torch.profiler.record_function("annotated"):
        x = send(work(torch.ones(4, 8), "gemm", 1_000_000))
    model(x).sum().backward()
    optimizer.step()
    wait()
"""


def test_a_recorded_program(tmp_path: Path, standin: Path) -> None:
    (tmp_path / "main.py").write_text(OPERATORS + PROGRAM)
    words = ["--gpu", "cupti", "-o", "run.perfprobe", "main.py"]
    outcome = perfprobe(words, tmp_path, environment(standin))
    assert outcome.status == 0, outcome
    recording, trace = tmp_path / "run.perfprobe", tmp_path / "run.json"
    trace.write_bytes(b"".join(Results(str(recording)).export("chrome", None).parts))
    assert differences(storage.read(str(recording)), kineto.read(trace)) == []
    events = document(trace)["traceEvents"]
    names = [name for name, *_ in spans(events, "kernel")]
    assert names.count("gemm") == 4
    assert sum(event["ph"] == "s" and event["cat"] == "fwdbwd" for event in events) >= 4 * 3
    assert [name for name, *_ in spans(events, "gpu_user_annotation")].count("annotated") == 4
    steps = [name for name, *_ in spans(events, "user_annotation") if name.startswith("ProfilerStep#")]
    assert steps == [f"ProfilerStep#{number}" for number in range(4)]
