"""Backward over several processes that communicate through torch's RPC."""

from __future__ import annotations

from pathlib import Path

from perfprobe.merge import link
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Phase
from tests.build import Program, op
from tests.found import find

AUTOGRAD = "torch::distributed::autograd::"


def test_rpc_calls_are_not_operators_and_gradient_transfer_is_named(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    line = program.stack("main.py:56 train")
    node = {"node_thread": 1, "node_sequence": 7}
    handed = op(f"{AUTOGRAD}RecvRpcBackward", 20, 60, op("aten::copy_", 30, 40, **node), scope=1, **node)
    around = op(f"autograd::engine::evaluate_function: {AUTOGRAD}RecvRpcBackward", 10, 70, handed, **node)
    program.run(op(f"{AUTOGRAD}backward", 0, 100, around, op("aten::mm", 80, 95, stack=line), stack=line))
    trace = link(program.recording(tmp_path))
    rows = LinkedOperators.concat(list(trace.operators()))
    names = [trace.recording[Strings][name].rpartition("::")[2] for name in rows.name.tolist()]
    gaps = dict(zip(names, map(NoLine, rows.no_line.tolist()), strict=True))
    assert gaps["RecvRpcBackward"] is NoLine.RPC
    assert gaps["copy_"] is NoLine.FORWARD_NOT_RECORDED
    assert Phase(rows.phase[names.index("backward")]) is Phase.BACKWARD
    spots = find(trace, Hotspots)[Hotspots]
    shown = [trace.recording[Strings][name] for name in spots.rows.name.tolist()]
    assert f"{AUTOGRAD}backward" not in shown
    assert [trace.recording[Strings][name] for name in spots.ranges.name.tolist()] == [f"{AUTOGRAD}backward"]
    assert spots.totals.self_ns == 60 + 15
