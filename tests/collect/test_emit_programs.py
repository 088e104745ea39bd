"""Programs under `--emit`, with a tool that listens through NVTX or ITT, and without one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from perfprobe import native
from perfprobe.tables import storage
from perfprobe.tables.ranges import Ranges
from perfprobe.tables.strings import Strings
from tests.collect.emitted import Heard, heard_by_process
from tests.collect.runs import Outcome, command, perfprobe
from tests.native.listener import LOG, VARIABLES

pytest.importorskip("torch", reason="the observer needs torch")

TRAINING = """
import torch
weight = torch.ones(2, 2, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
def loss_of(x):
    return (x @ weight).sum()
for _ in range(2):
    loss = loss_of(torch.ones(1, 2))
    loss.backward()
    optimizer.step()
print("done")
"""

ONE = """
import torch
torch.ones(1).neg()
"""

FORKED = """
import os, torch
from torch.autograd.profiler import record_function
with record_function("around the fork"):
    child = os.fork()
    torch.ones(1).neg()
if child == 0:
    torch.ones(2).neg()
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""

FLOOD = """
import torch
base = torch.ones(17_000)
for size in range(1, 17_000):
    base[:size].neg()
base[:3].neg()
"""


def run(
    listener: Callable[[str], Path], kind: str, folder: Path, program: str
) -> tuple[Outcome, dict[int, Heard]]:
    """Runs the program under perfprobe with the listening tool; returns what each process emitted."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    environment = {VARIABLES[kind]: str(listener(kind)), LOG: str(folder / "log")}
    words = ["-q", "--python", "off", "--emit", kind, "-o", "run.perfprobe", "program.py"]
    outcome = perfprobe(words, folder, environment)
    heard = heard_by_process(folder / "log")
    assert (outcome.status, [each.faults for each in heard.values()]) == (0, [[]] * len(heard))
    return outcome, heard


@pytest.mark.parametrize("kind", ["nvtx", "itt"])
def test_a_tool_hears_operators_phases_and_steps(
    listener: Callable[[str], Path], tmp_path: Path, kind: str
) -> None:
    outcome, heard = run(listener, kind, tmp_path, TRAINING)
    assert outcome.out == b"done\n"
    (((process, only)),) = heard.items()
    assert only.open == []
    texts = only.begun(process)
    line = "program.py:6 loss_of"
    assert texts.count(f"aten::mm f32[1,2] f32[2,2] @ {line}") == 2
    assert [text for text in texts if text.startswith("MmBackward0")] == [
        f"MmBackward0 f32[1,2]{{0,0}} @ {line} (backward)"
    ] * 2
    assert [text for text in texts if text.startswith("Optimizer.step#")] == [
        "Optimizer.step#SGD.step @ program.py:10 <module>"
    ] * 2
    assert [text for sign, text in only.free if sign == "+"] == [
        *["step 1", "forward", "backward", "optimizer"],
        *["step 2", "forward", "backward", "optimizer", "step 3"],
    ]


def test_a_forked_child_emits_nothing(listener: Callable[[str], Path], tmp_path: Path) -> None:
    outcome, heard = run(listener, "itt", tmp_path, FORKED)
    assert outcome.out == b"0\n"
    (((process, only)),) = heard.items()
    assert only.open == []
    assert sum(text.startswith("aten::neg") for text in only.begun(process)) == 1


def test_beyond_the_limit_ranges_have_names_only(listener: Callable[[str], Path], tmp_path: Path) -> None:
    _, heard = run(listener, "itt", tmp_path, FLOOD)
    (((process, only)),) = heard.items()
    texts = only.begun(process)
    assert re.fullmatch(r"aten::neg f32\[1\] @ program.py:5 <module>", _first(texts, "aten::neg"))
    assert _first(texts[::-1], "aten::neg") in ("aten::neg", "aten::neg f32[3] @ program.py:6 <module>")
    assert "aten::neg" in texts
    assert len(set(texts)) < 16_384 + 100
    report = command(["report", "--full", "run.perfprobe"], tmp_path)
    assert b"operators are named without signature and line" in report.out


def _first(texts: list[str], start: str) -> str:
    return next(text for text in texts if text.startswith(start))


@pytest.mark.parametrize("kind", ["nvtx", "itt"])
def test_perfprobe_does_not_listen_to_itself_and_reports_that_no_tool_does(tmp_path: Path, kind: str) -> None:
    (tmp_path / "program.py").write_text(ONE, encoding="utf-8")
    words = ["--emit", kind, "-o", "run.perfprobe", "program.py"]
    outcome = perfprobe(words, tmp_path)
    assert outcome.status == 0
    recorded = storage.read(tmp_path / "run.perfprobe")
    assert "perfprobe" not in {recorded[Strings][domain] for domain in recorded[Ranges].domain}
    (said,) = [line for line in outcome.said if "no ranges are emitted" in line]
    assert f"--emit {kind} script.py" in said or native.why_not_built(kind)
    report = command(["report", "--view", "missing", "run.perfprobe"], tmp_path)
    assert b"no ranges were emitted" in report.out


def test_under_a_tool_a_run_without_emit_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ONE, encoding="utf-8")
    words = ["-q", "-o", "run.perfprobe", "program.py"]
    outcome = perfprobe(words, tmp_path, {"NSYS_PROFILING_SESSION_ID": "1"})
    assert [line for line in outcome.said if "Nsight Systems" in line and "--emit nvtx" in line]
