"""Operators, phases and steps as ranges for another tool: what a listening tool gets, in order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.autograd.profiler import record_function
from torch.utils.checkpoint import checkpoint

import perfprobe
from perfprobe import native
from perfprobe.collect import emit
from perfprobe.collect.operators import OperatorCollector
from perfprobe.support import install
from perfprobe.support.errors import UsageError
from perfprobe.tables import storage
from tests.collect.attribution import Marks
from tests.collect.emitted import Heard, Listener, heard_by_process, pairs
from tests.collect.recorded import Row, one_thread, rows
from tests.collect.test_attribution_backward import KINDS

at = Marks(__file__)
Emitted = Callable[[Callable[[], Any]], Heard]


@pytest.fixture(scope="module")
def ports(listener: Callable[[str], Path]) -> Listener:
    return Listener(listener("ports"))


@pytest.fixture
def emitted(ports: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Emitted:
    """Runs a function while it is recorded and emitted; returns what the listening tool got."""
    one_thread()
    monkeypatch.setattr(emit, "listener", lambda facts, kind: ports.port() if kind else None)

    def run(function: Callable[[], Any]) -> Heard:
        ports.into(tmp_path / "log")
        with perfprobe.profile(tmp_path / "run.perfprobe", emit="nvtx", python="off", ranges=False):
            function()
        heard = heard_by_process(tmp_path / "log")[os.getpid()]
        assert heard.faults == []
        return heard

    return run


def on(mark: str, function: str) -> str:
    """The end of a message: the marked line, and the function's qualified name if known."""
    place, _, name = at(mark, function).partition(" in ")
    qualified = getattr(globals().get(name), "__qualname__", name)
    return f"@ {place} {qualified}"


def product_of(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    y = x * weight  # product
    return y.exp()  # exponential


def test_ranges_of_a_program_counted_by_hand(emitted: Emitted) -> None:
    x, weight = torch.ones(1), torch.ones(1, requires_grad=True)

    def step() -> None:
        y = product_of(x, weight)
        torch.autograd.grad(y, weight, x)

    heard = emitted(step)
    product, exponential = on("product", "product_of"), on("exponential", "product_of")
    assert heard.nested[os.getpid()] == [
        *pairs([f"aten::mul f32[1] f32[1] {product}", f"aten::exp f32[1] {exponential}"]),
        ("+", "autograd::engine::evaluate_function: ExpBackward0"),
        ("+", f"ExpBackward0 f32[1] {exponential} (backward)"),
        *pairs([f"aten::mul f32[1] f32[1] {exponential} (backward)"]),
        ("-", f"ExpBackward0 f32[1] {exponential} (backward)"),
        ("-", "autograd::engine::evaluate_function: ExpBackward0"),
        ("+", "autograd::engine::evaluate_function: MulBackward0"),
        ("+", f"MulBackward0 f32[1] {product} (backward)"),
        *pairs([f"aten::mul f32[1] f32[1] {product} (backward)"]),
        ("-", f"MulBackward0 f32[1] {product} (backward)"),
        ("-", "autograd::engine::evaluate_function: MulBackward0"),
        *pairs(["autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"]),
    ]
    assert heard.free == [*_around("step 1", "forward", "backward")]
    assert heard.open == []


def _around(outer: str, *inner: str) -> list[tuple[str, str]]:
    return [("+", outer), *pairs(list(inner)), ("-", outer)]


class Twice(torch.autograd.Function):
    """Python code that runs in backward."""

    @staticmethod
    def forward(_ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(_ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


def twice(x: torch.Tensor) -> torch.Tensor:
    y: torch.Tensor = Twice.apply(x)
    return y


def computed_again(x: torch.Tensor) -> torch.Tensor:
    y: torch.Tensor = checkpoint(lambda z: torch.tanh(z @ z.T), x, use_reentrant=False)
    return y


def with_hook(x: torch.Tensor) -> torch.Tensor:
    y = x * 3
    y.register_hook(lambda gradient: gradient * 2)
    return y


def derived(x: torch.Tensor) -> torch.Tensor:
    (gradient,) = torch.autograd.grad(x.sin().sum(), x, create_graph=True)
    return gradient


OWN_KINDS = [twice, computed_again, with_hook, derived]


@pytest.mark.parametrize("kind", [*KINDS, *OWN_KINDS], ids=lambda kind: kind.__name__)
def test_ranges_agree_with_the_report(
    emitted: Emitted, tmp_path: Path, kind: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    x = torch.rand(2, 8, requires_grad=True)

    def step() -> None:
        y = kind(x)
        torch.autograd.backward(y, torch.ones_like(y))

    heard = emitted(step)
    recorded = rows(tmp_path / "run.perfprobe")
    found = [_without_class(text) for text in heard.begun()]
    assert found == [_expected(row) for row in recorded]
    assert heard.open == []


def _without_class(text: str) -> str:
    """The function's unqualified name, as in the rows of tests."""
    start, line, end = text.partition(" @ ")
    place, _, rest = end.partition(" ")
    name, in_backward, _ = rest.partition(" (backward)")
    return f"{start}{line}{place} {name.rsplit('.', 1)[-1]}{in_backward}".rstrip()


def _expected(row: Row) -> str:
    text = f"{row.name} {row.signature}".rstrip()
    # The engine's range begins before it is known which node it runs.
    if not row.line or row.name.startswith("autograd::engine"):
        return text
    is_linked = row.phase == "backward" and row.line == row.forward_line
    return f"{text} @ {row.line.replace(' in ', ' ')}{' (backward)' if is_linked else ''}"


def test_an_operator_that_raises_ends_its_range(emitted: Emitted) -> None:
    def step() -> None:
        with pytest.raises(RuntimeError), record_function("attempt"):
            torch.ones(2) + torch.ones(3)
        torch.ones(1).neg()

    heard = emitted(step)
    assert heard.open == []
    depth, last = 0, ""
    for sign, text in heard.nested[os.getpid()]:
        depth += 1 if sign == "+" else -1
        last = text if sign == "+" and depth == 1 else last
    assert last.startswith("aten::neg")


def test_each_thread_nests_its_own_ranges(emitted: Emitted) -> None:
    threads: dict[int, int] = {}

    def work(number: int) -> None:
        threads[threading.get_native_id()] = number
        with record_function(f"thread {number}"):
            for _ in range(50):
                torch.ones(number + 1).neg()

    def step() -> None:
        running = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    heard = emitted(step)
    assert heard.open == []
    for thread, number in threads.items():
        texts = heard.begun(thread)
        assert sum(text.startswith(f"aten::neg f32[{number + 1}] ") for text in texts) == 50
        assert texts[0].startswith(f"thread {number} @ ") or texts[1].startswith(f"thread {number} @ ")


def test_a_range_that_ends_on_another_thread_ends_with_its_parent(emitted: Emitted) -> None:
    def step() -> None:
        with record_function("around"):
            moved = record_function("moved")
            moved.__enter__()
            thread = threading.Thread(target=moved.__exit__, args=(None, None, None))
            thread.start()
            thread.join()
        torch.ones(1)

    heard = emitted(step)
    assert heard.open == []
    ends = [text.split()[0] for sign, text in heard.nested[os.getpid()] if sign == "-"]
    assert ends.index("moved") + 1 == ends.index("around")


def test_open_ranges_end_with_the_recording(emitted: Emitted) -> None:
    left = record_function("left open")
    heard = emitted(left.__enter__)
    left.__exit__(None, None, None)
    assert "left open" in heard.begun()[-1]
    assert heard.open == []


def test_phases_and_steps_are_emitted(emitted: Emitted) -> None:
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def step() -> None:
        for _ in range(2):
            (weight * 2).backward()
            with record_function("updates"):  # a range of the program is not a phase
                optimizer.step()
            optimizer.zero_grad()

    heard = emitted(step)
    phases = ["forward", "backward", "optimizer"]
    assert heard.free == [
        *_around("step 1", *phases),
        *_around("step 2", "optimizer", *phases),
        *_around("step 3", "optimizer"),
    ]


def test_backward_on_another_thread_ends_the_forward_phase(emitted: Emitted) -> None:
    weight = torch.ones(1, requires_grad=True)

    def step() -> None:
        for _ in range(2):
            y = weight * 2
            thread = threading.Thread(target=torch.autograd.grad, args=(y, weight, torch.ones(1)))
            thread.start()
            thread.join()

    heard = emitted(step)
    assert heard.free == _around("step 1", "forward", "backward", "forward", "backward")


def test_long_messages_are_cut(emitted: Emitted) -> None:
    def step() -> None:
        with record_function("é" * 1000):
            torch.ones(1)

    texts = emitted(step).texts
    assert max(len(text.encode()) for text in texts) <= 500
    assert [text.endswith("é...") for text in texts if text.startswith("é")] == [True]


def test_a_message_is_made_once(emitted: Emitted) -> None:
    def step() -> None:
        for _ in range(100):
            torch.ones(1).neg()  # the same message

    texts = emitted(step).texts
    assert len(texts) == len(set(texts))


def test_ids_are_the_starts_of_operators(
    ports: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weight = torch.ones(4, requires_grad=True)
    begin = OperatorCollector.start
    monkeypatch.setattr(OperatorCollector, "start", lambda self: (begin(self), self.hand_on_ids(ports.ids())))
    ports.into(tmp_path / "log")
    with perfprobe.profile(tmp_path / "run.perfprobe", gpu_links="exact", python="off", ranges=False):
        with pytest.raises(RuntimeError):
            weight + torch.ones(3)
        (weight * 2).sum().backward()
    heard = heard_by_process(tmp_path / "log")[os.getpid()]
    starts = [
        start for batch in storage.read(tmp_path / "run.perfprobe").operators() for start in batch.start_ns
    ]
    assert len(starts) > 10
    assert sorted(heard.ids[os.getpid()]) == sorted(starts)
    assert (heard.open, heard.faults) == ([], [])


@pytest.mark.parametrize("source", ["autograd", "off"])
def test_only_the_observer_emits(source: str) -> None:
    with pytest.raises(UsageError, match="emitted"):
        perfprobe.profile(emit="nvtx", operators=source)


def test_without_headers_nothing_is_emitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "core", lambda: SimpleNamespace(nvtx_missing=lambda: "built without headers"))
    monkeypatch.setattr(native, "why_not_built", {"nvtx": "no headers"}.get)
    said: list[str] = []
    facts: Any = SimpleNamespace(tell=said.append, loss=lambda *row: said.append(row[-1]))
    assert emit.listener(facts, "nvtx") is None
    assert said == [f"no ranges are emitted: built without headers; {install.rebuild()}", install.rebuild()]
