"""The backward node of each operator: by the observer, by the rules in Python, and by torch's own graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import perfprobe
from perfprobe.models.nodes import NOT_IN_BACKWARD, NOT_KNOWN, Call, Node, NodeKind, node_kind
from perfprobe.tables import storage
from perfprobe.tables.events import Threads
from perfprobe.tables.scopes import BACKWARD_FUNCTION, FUNCTION, USER_SCOPE
from perfprobe.tables.strings import Strings

COLUMNS = ("start_ns", "thread", "depth", "name", "sequence", "forward_thread", "scope")
NODES = ("node_sequence", "node_thread")
ENGINE = "autograd::engine::evaluate_function: "
ACCUMULATE = "torch::autograd::AccumulateGrad"


class Recorded(NamedTuple):
    name: str
    thread: int  # torch's number
    depth: int
    sequence: int
    forward_thread: int
    scope: int
    node: Node


def recorded(path: Path, run: Callable[[], object]) -> list[Recorded]:
    """By thread, in the order in which they started."""
    with perfprobe.profile(path):
        run()
    recording = storage.read(path)
    found = []
    for batch in recording.operators((*COLUMNS, *NODES)):
        for row in range(len(batch)):
            thread, start_ns, depth, name, *rest = (
                int(getattr(batch, column)[row])
                for column in ("thread", "start_ns", "depth", "name", *COLUMNS[4:], *NODES)
            )
            sequence, forward_thread, scope, *node = rest
            forward_id = int(recording[Threads].forward_id[thread])
            call = (recording[Strings][name], forward_id, depth, sequence, forward_thread, scope, Node(*node))
            found.append((thread, start_ns, depth, Recorded(*call)))
    return [call for *_, call in sorted(found, key=lambda each: each[:3])]


def by_the_rules(rows: list[Recorded]) -> Iterator[Node]:
    """The nodes found from name, scope, numbers and depth of calls only, after all have begun."""
    calls: list[Call] = []
    opened: list[Call] = []
    thread = None
    for row in rows:
        if row.thread != thread:
            thread, opened = row.thread, []
        call = Call(row.name, row.scope, row.sequence, max(row.forward_thread, 0))
        del opened[row.depth :]
        call.enter(opened[-1] if opened else None, row.thread)
        assert call.depth == row.depth
        opened.append(call)
        calls.append(call)
    return (call.node for call in calls)


def graph_of(result: torch.Tensor) -> dict[tuple[str, int], int]:
    """The number of torch's nodes by name and number; -1 for the largest number, which means none."""
    assert result.grad_fn is not None
    found: dict[Any, tuple[str, int]] = {}
    waiting: list[Any] = [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in found:
            continue
        number = node._sequence_nr()
        found[node] = (node.name(), -1 if number == (1 << 64) - 1 else number)
        waiting += [outer for outer, _ in node.next_functions]
    return {key: list(found.values()).count(key) for key in found.values()}


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return 2 * context.saved_tensors[0] * gradients[0]


def layers() -> torch.Tensor:
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))(torch.ones(4, 8)).sum()


def own_function() -> torch.Tensor:
    x: torch.Tensor = Doubled.apply(torch.ones(3, requires_grad=True))
    return x.sum()


def views() -> torch.Tensor:
    x = torch.ones(2, 8, requires_grad=True).clone()
    x[0].mul_(2)
    return x.exp().sum()


def lists() -> torch.Tensor:
    x = torch.ones(3, requires_grad=True)
    return torch.cat(torch._foreach_mul([x, x.sin()], 2.0)).sum()


def hooked() -> torch.Tensor:
    x = torch.ones(3, requires_grad=True).exp()
    x.register_hook(lambda gradient: gradient * 2)
    return x.cos().sum()


PROGRAMS = (layers, own_function, views, lists, hooked)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_nodes_agree_with_torchs_graph(program: Callable[[], torch.Tensor], tmp_path: Path) -> None:
    graphs = []

    def run() -> None:
        result = program()
        graphs.append(graph_of(result))
        result.backward()

    rows = recorded(tmp_path / "run.perfprobe", run)
    # A node may run another that is in no graph: a write into a view does.
    nodes = [(row.name, row.sequence) for row, around in nested(rows) if is_in_graph(row, around)]
    assert {key: nodes.count(key) for key in nodes} == graphs[0]
    assert list(by_the_rules(rows)) == [row.node for row in rows]
    assert list(expected(rows)) == [row.node for row in rows]


def nested(rows: list[Recorded]) -> Iterator[tuple[Recorded, list[Recorded]]]:
    """Each row with the rows around it, outermost first."""
    opened: list[Recorded] = []
    for row in rows:
        del opened[row.depth :]
        yield row, [*opened]
        opened.append(row)


def is_in_graph(row: Recorded, around: list[Recorded]) -> bool:
    return row.scope == BACKWARD_FUNCTION and around[-1].name == ENGINE + row.name


def expected(rows: list[Recorded]) -> Iterator[Node]:
    """Found only from the nesting and torch's number of each node."""
    latest = NOT_KNOWN
    for at, (row, around) in enumerate(nested(rows)):
        is_inside = any(outer.name.startswith(ENGINE) for outer in around)
        nodes = [outer for outer in (*around, row) if outer.scope == BACKWARD_FUNCTION]
        if row.name.startswith(ENGINE):  # it belongs to the next node that begins
            yield Node(
                next(inner for inner in rows[at:] if inner.scope == BACKWARD_FUNCTION).sequence, row.thread
            )
            latest = NOT_KNOWN
        elif nodes:
            latest = Node(nodes[0].sequence, row.thread)
            yield Node(nodes[-1].sequence, row.thread)
        else:
            yield latest if is_inside else NOT_IN_BACKWARD


def test_backward_of_another_threads_calls(tmp_path: Path) -> None:
    made: list[torch.Tensor] = []

    def run() -> None:
        thread = threading.Thread(target=lambda: made.append(layers()))
        thread.start()
        thread.join()
        made[0].backward()

    rows = recorded(tmp_path / "run.perfprobe", run)
    assert list(by_the_rules(rows)) == [row.node for row in rows]
    forward = {row.thread for row in rows if row.name == "aten::linear"}
    nodes = [row for row in rows if row.scope == BACKWARD_FUNCTION and row.name != ACCUMULATE]
    assert {row.node.thread for row in nodes} == forward
    assert {row.thread for row in nodes}.isdisjoint(forward)


def test_backward_of_backward_and_in_backward(tmp_path: Path) -> None:
    weight = torch.ones(3, requires_grad=True)

    def run() -> None:
        (gradient,) = torch.autograd.grad(weight.exp().sum(), weight, create_graph=True)
        gradient.sin().sum().backward()
        checkpoint(lambda x: x.cos().sin(), weight, use_reentrant=False).sum().backward()
        checkpoint(lambda x: x.cos().sin(), weight, use_reentrant=True).sum().backward()

    rows = recorded(tmp_path / "run.perfprobe", run)
    assert list(by_the_rules(rows)) == [row.node for row in rows]
    assert {row.depth for row in rows if row.scope == BACKWARD_FUNCTION} > {1}


def entered(*calls: Call) -> list[Node]:
    """The nodes of calls on thread 7, each nested in the previous one."""
    for parent, call in zip((None, *calls), calls, strict=False):
        call.enter(parent, 7)
    return [call.node for call in calls]


def test_numbers_of_the_profiler_that_differ() -> None:
    """It gives the engine's row the number of its node, and no thread to nodes without a forward call."""
    engine, node = (
        Call(f"{ENGINE}ExpBackward0", FUNCTION, 5, 0),
        Call("ExpBackward0", BACKWARD_FUNCTION, 5, 3),
    )
    assert entered(engine, node, Call("aten::mul", FUNCTION, -1, 0)) == [(5, 3)] * 3
    assert engine.sequence == -1
    assert entered(Call(f"{ENGINE}{ACCUMULATE}", FUNCTION, -1, 0)) == [NOT_KNOWN]
    assert entered(Call(ACCUMULATE, BACKWARD_FUNCTION, -1, 0)) == [(-1, 7)]
    assert entered(Call("ExpBackward0", BACKWARD_FUNCTION, 5, 0)) == [(5, 0)]
    assert (
        entered(Call("loss", USER_SCOPE, -1, 0), Call("aten::mul", FUNCTION, 9, 0)) == [NOT_IN_BACKWARD] * 2
    )


def test_kinds_of_nodes() -> None:
    kinds = {
        name: node_kind(name).name for name in ("MulBackward0", "torch::autograd::CopySlices", "mine::Node")
    }
    assert list(kinds.values()) == ["ONE_OF_SEVERAL", "ONE_OF_SEVERAL", "ONLY_ONE"]
    assert node_kind("torch::jit::(anonymous namespace)::DifferentiableGraphBackward") == (
        NodeKind.OF_SEVERAL_CALLS
    )
