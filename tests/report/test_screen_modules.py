"""The first screen where no line stands out, but a module does."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.tables.diagnoses import Cause, Diagnoses
from tests.build import Program, op
from tests.report.test_screen import ENGINE, found, labelled
from tests.report.test_text import META
from tests.snapshots import Snapshot

MS = 1_000_000
STEPS = 8


def blocks(attention_ms: int) -> Program:
    """4 blocks, each with an attention of 6 lines that has a product of its own, then 10 lines of 1 ms.

    attention_ms: of the lines of an attention together. A step has 46 ms of others.
    """
    step_ns = (4 * attention_ms + 40 + 4 + 2) * MS
    program = Program(**META | {"stop": {"monotonic_ns": STEPS * step_ns, "cpu_ns": STEPS * step_ns}})
    program.thread(1)
    net = program.module("", "Net")
    layers = program.module("blocks", "ModuleList", net)
    backward, update = program.stack("/p/train.py:24 main", ENGINE), program.stack("/p/train.py:25 main")
    for number in range(STEPS):
        at = number * step_ns
        for block in range(4):
            own = program.module("attn", "Attention", program.module(str(block), "Block", layers))
            within = program.module("proj", "Linear", own)
            parts = [(50 + line, own, attention_ms * MS // 6) for line in range(6)]
            parts += [(60, within, MS)] + [(70 + line, net, MS) for line in range(10)]
            for line, module, length_ns in parts:
                stack = program.stack("/p/train.py:22 main", (f"/p/model.py:{line} forward", module))
                program.run(op("aten::mm", at, at + length_ns, stack=stack))
                at += length_ns
        program.run(
            op("MmBackward0", at, at + MS, stack=backward, node_sequence=number, node_thread=1),
            op("Optimizer.step#SGD.step", at + MS, at + 2 * MS, stack=update, scope=7),
        )
    return program


@pytest.mark.parametrize("attention_ms", [12, 3])
def test_a_module_is_named_for_the_time_of_its_own(
    attention_ms: int, tmp_path: Path, snapshot: Snapshot
) -> None:
    """48 of 94 ms, no line with more than 9 %; or 12 of 58."""
    findings = found(blocks(attention_ms), tmp_path)
    slow = findings[Diagnoses].slow
    assert slow is not None
    assert slow.cause is Cause.MODULE
    assert slow.share == pytest.approx(4 * attention_ms / (4 * attention_ms + 46), rel=0.02)
    lines = labelled(findings)
    snapshot("\n".join(f"{label}: {lines.get(label)}" for label in ("SLOW", "", "GAIN", "THEN")))


def test_a_small_module_is_not_named(tmp_path: Path) -> None:
    assert found(blocks(2), tmp_path)[Diagnoses].slow is None


@pytest.mark.parametrize(("attention_ms", "cause"), [(7, Cause.LINE), (18, Cause.MODULE)])
def test_a_line_gives_way_only_to_a_module_that_stands_out(
    attention_ms: int, cause: Cause, tmp_path: Path
) -> None:
    """One line calls a whole model with four layers of 5 ms and the attention; other lines have 14 ms."""
    step_ns = (attention_ms + 20 + 14) * MS
    program = Program(**META | {"stop": {"monotonic_ns": STEPS * step_ns, "cpu_ns": STEPS * step_ns}})
    program.thread(1)
    net = program.module("", "Net")
    layers = [(program.module(name, name.title(), net), 5) for name in ("embed", "norm", "mixer", "head")]
    layers.append((program.module("attention", "Attention", net), attention_ms))
    backward, update = program.stack("/p/train.py:24 main", ENGINE), program.stack("/p/train.py:25 main")
    for number in range(STEPS):
        at = number * step_ns
        for module, length_ms in layers:
            stack = program.stack(
                "/p/train.py:22 main", ("/env/site-packages/torch/nn/modules/module.py:1 forward", module)
            )
            program.run(op("aten::mm", at, at + length_ms * MS, stack=stack))
            at += length_ms * MS
        program.run(
            op("MmBackward0", at, at + MS, stack=backward, node_sequence=number, node_thread=1),
            op("Optimizer.step#SGD.step", at + MS, at + 14 * MS, stack=update, scope=7),
        )
    slow = found(program, tmp_path)[Diagnoses].slow
    assert slow is not None
    assert (slow.cause, slow.frame >= 0) == (cause, True)
    of_model = attention_ms if cause is Cause.MODULE else attention_ms + 20
    assert slow.share == pytest.approx(of_model / (attention_ms + 34), rel=0.05)
