"""The native replacement of a class's function, during a recording and without one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from perfprobe import native
from perfprobe.support.errors import EnvironmentLack
from tests.collect.recorded import Row

Record = Callable[[Callable[[], Any]], list[Row]]


class Kernel:
    def run(self, *args: Any, stream: int = 0) -> Any:
        """Launches a kernel."""
        if stream < 0:
            raise ValueError("no stream")
        return args


class Busy(Exception):
    pass


names: dict[int, str] = {}


def name_of(kernel: object) -> str | None:
    if kernel is unnamed:
        raise Busy("fails")
    if kernel is interrupting:
        signal.raise_signal(signal.SIGINT)
        return None
    return None if kernel is hidden else names.setdefault(id(kernel), "triton::k")


unnamed, interrupting, hidden = Kernel(), Kernel(), Kernel()


@pytest.fixture(autouse=True)
def wrapped() -> Iterator[None]:
    try:
        wrap = native.observer(torch).recorded_method
    except EnvironmentLack as missing:
        pytest.skip(str(missing))
    original = Kernel.run
    Kernel.run = wrap(original, names, name_of)  # type: ignore[method-assign]
    yield
    Kernel.run = original  # type: ignore[method-assign]
    names.clear()


def test_calls_are_rows_with_the_arguments_after_self(recorded: Record) -> None:
    kernel, x = Kernel(), torch.ones(2, 3)

    def program() -> None:
        assert kernel.run(x, 7, stream=3) == (x, 7)
        assert Kernel.run(kernel, 1.5) == (1.5,)

    (one, other) = recorded(program)
    assert (one.name, one.signature, one.scope) == ("triton::k", "f32[2,3] 7", 0)
    assert other.example == "1.5"
    assert one.line.endswith("program")


def test_calls_without_a_name_are_not_recorded(recorded: Record) -> None:
    def program() -> None:
        assert unnamed.run(1) == hidden.run(1) == (1,)
        with pytest.raises(KeyboardInterrupt):
            interrupting.run(1)
        with pytest.raises(TypeError):
            Kernel.run()  # type: ignore[call-arg]

    assert recorded(program) == []


def test_a_call_that_raises_ends_its_row(recorded: Record) -> None:
    kernel = Kernel()

    def program() -> None:
        with pytest.raises(ValueError, match="no stream"):
            kernel.run(stream=-1)
        torch.ones(2)

    rows = recorded(program)
    assert rows[0].name == "triton::k"
    assert all(row.parent == -1 or rows[row.parent].name != "triton::k" for row in rows)


def test_a_kernel_in_backward_has_the_forward_line(recorded: Record) -> None:
    kernel = Kernel()

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            kernel.run(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            kernel.run(grads[0])
            return grads[0] * 2

    def program() -> None:
        Scale.apply(torch.ones(3, requires_grad=True)).sum().backward()

    rows = [row for row in recorded(program) if row.name == "triton::k"]
    assert sorted(row.phase for row in rows) == ["backward", "forward"]


def test_other_profilers_do_not_see_the_calls(recorded: Record) -> None:
    kernel = Kernel()
    seen: list[str] = []

    def program() -> None:
        with torch.profiler.profile(acc_events=True) as profiler:
            kernel.run(torch.ones(2))
        seen.extend(event.name for event in profiler.events())

    assert "triton::k" in {row.name for row in recorded(program)}
    assert "triton::k" not in seen


def test_calls_on_any_thread_and_nested_calls(recorded: Record) -> None:
    kernel = Kernel()
    inner = Kernel()
    outer = type("Outer", (Kernel,), {"run": lambda self: super(type(self), self).run(inner.run(1))})()

    def program() -> None:
        thread = threading.Thread(target=lambda: kernel.run(1))
        thread.start()
        thread.join()
        outer.run()

    rows = recorded(program)
    assert [row.name for row in rows] == ["triton::k"] * 3
    assert len({row.thread for row in rows}) == 2


def test_without_a_recording_no_name_is_asked_for() -> None:
    assert interrupting.run(1) == (1,)
    assert unnamed.run(2, stream=1) == (2,)
    assert names == {}
