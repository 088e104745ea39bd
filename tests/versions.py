"""Versions of a small training program, made by hand: recordings whose steps are known to the nanosecond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.build import Program, op

MS = 1_000_000
SECOND = 1_000_000_000
ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
LOOP = "/p/train.py:20 main"


def fnv(text: str) -> int:
    """The hash of a line's text, written down again: FNV-1a of 64 bits without the last."""
    found = 0xCBF29CE484222325
    for byte in text.strip().encode():
        found = (found ^ byte) * 0x100000001B3 % 2**64
    return found >> 1


@dataclass
class Call:
    """An operator that forward calls in each step, with its backward.

    at: its line in `/p/model.py`, in a function that begins at line 8. text: of the line; None: not known.
    """

    name: str
    ms: float
    at: int
    text: str | None = None
    backward_ms: float = 0
    inputs: str = "f32[16,32]"
    number: int = 1
    module: str = "conv"
    function: str = "Net.forward"

    @property
    def place(self) -> str:
        return f"/p/model.py:{self.at}/8 {self.function}"


BASE = (
    Call("aten::conv2d", 6, 12, "x = self.conv(x)", 5),
    Call("aten::relu", 1, 13, "x = relu(x)", 1, module=""),
    Call("aten::linear", 2, 14, "return self.head(x)", 2, module="head"),
)


class Version:
    """A recorded run. Each step: data, the forward calls, Python, their backward calls, the optimizer.

    begun_s: when it began, on the wall clock. scale: how much longer everything takes in this run.
    """

    def __init__(
        self,
        calls: Sequence[Call] = BASE,
        *,
        data_ms: float = 2,
        python_ms: float = 3,
        steps: int = 12,
        begun_s: float = 0,
        scale: float = 1,
        start_up_ms: float = 100,
        **meta: Any,
    ) -> None:
        self._scale, self.end_ns = scale, round(start_up_ms * MS)
        known = {
            "clock": {"monotonic_ns": 0, "realtime_ns": 1_700_000_000 * SECOND + round(begun_s * SECOND)},
            "program": {"cwd": "/p", "argv": ["train.py"], "pid": 1001},
            "roots": {"site": ["/env/site-packages"], "script": "/p"},
            "start": {"monotonic_ns": 0, "cpu_ns": 0},
            "versions": {"python": "3.11.7", "torch": "2.9.0"},
            "torch": {"version": "2.9.0", "threads": 2},
        }
        self.program = Program(**{**known, **meta})
        self.program.thread(1)
        self._net = self.program.module("", "Net")
        for number in range(steps):
            self._step(number, calls, data_ms, python_ms)
        self.program.meta["stop"] = {"monotonic_ns": self.end_ns, "cpu_ns": self.end_ns}

    def _step(self, number: int, calls: Sequence[Call], data_ms: float, python_ms: float) -> None:
        program, each = self.program, 100 * number
        self._run("enumerate(DataLoader)#_Next", data_ms, program.stack(LOOP), scope=7)
        for at, call in enumerate(calls):
            if call.text is not None:
                program.hashes[call.place] = fnv(call.text)
            module = program.module(call.module, "Layer", self._net) if call.module else self._net
            stack = program.stack("/p/train.py:22 main", (call.place, module))
            row = {"stack": stack, "signature": program.signature(call.inputs), "sequence": each + at}
            for _ in range(call.number):
                self._run(call.name, call.ms, **row)
        self.end_ns += round(python_ms * MS * self._scale)
        engine = program.stack("/p/train.py:24 main", ENGINE)
        for at, call in enumerate(calls):
            if call.backward_ms:
                node = {"node_sequence": each + at, "node_thread": 1}
                name = f"{call.name.removeprefix('aten::')}_backward"
                self._run(f"aten::{name}", call.backward_ms, engine, **node)
        self._run("Optimizer.step#SGD.step", 1, program.stack("/p/train.py:25 main"), scope=7)

    def _run(self, name: str, ms: float, stack: int, **fields: int) -> None:
        end_ns = self.end_ns + round(ms * MS * self._scale)
        self.program.run(op(name, self.end_ns, end_ns, stack=stack, **fields))
        self.end_ns = end_ns

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.program.encode())
        return path


# How much longer runs take than others, for no reason.
SCALES = (1.0, 1.01, 0.995, 1.004, 0.99, 1.006)


def folders(
    folder: Path, before: Sequence[Call], after: Sequence[Call], runs: int = 6, **after_has: Any
) -> list[str]:
    """Runs of both versions that took turns, in two folders."""
    for at, scale in enumerate(SCALES[:runs]):
        order: Any = (("a", before, {}), ("b", after, after_has))
        for turn, (name, calls, has) in enumerate(order if at % 2 else order[::-1]):
            run = Version(calls, begun_s=100 * at + 10 * turn, scale=scale * (1 + 0.001 * turn), **has)
            run.write(folder / name / f"{at}.perfprobe")
    return [str(folder / name) for name in "ab"]
