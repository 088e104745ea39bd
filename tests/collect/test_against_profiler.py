"""Observer and torch.profiler in one run record the same operators, counts, shapes and nesting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._C._profiler import _EventType, _TensorMetadata

from tests.collect.recorded import Row, one_thread, record

Node = tuple[str, list[list[int]], list[Any]]  # name, tensor sizes, children

WINDOW = "the window both compare"


def transformer_step() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
    optimizer = torch.optim.Adam(layer.parameters())
    for _ in range(2):
        loss = layer(torch.randn(4, 6, 32)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def convolution_step() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    for _ in range(2):
        model(torch.randn(2, 3, 12, 12)).sum().backward()
        optimizer.step()


def lists_and_scalars() -> None:
    # No index with tensors: torch.profiler leaves out lists of optional tensors, the observer does not.
    parts = [torch.ones(2, 3), torch.ones(4, 3)]
    joined = torch.cat(parts)
    joined.split([1, 5], dim=0)[0].add_(2.5)
    torch.stack([joined, joined], dim=1).index_select(0, torch.tensor([0, 2]))
    torch.einsum("ij,kj->ik", joined, joined)


def _profiler_tree(roots: Any) -> list[Node]:
    """The window's operators in torch.profiler's own event tree.

    The raw tree, not `events()`, which drops a node whose only child has the same name.
    """
    (window,) = [event for event in _walk(roots) if event.name == WINDOW]
    return _children(window)


def _walk(events: Any) -> Any:
    for event in events:
        yield event
        yield from _walk(event.children)


def _children(event: Any) -> list[Node]:
    return [
        (child.name, [list(tensor.sizes) for tensor in _tensors(child.typed[1].inputs)], _children(child))
        for child in sorted(event.children, key=lambda child: child.start_time_ns)
        if child.tag == _EventType.TorchOp
    ]


def _tensors(inputs: Any) -> list[Any]:
    """Tensors with at least one dimension, lists flattened."""
    flat = [inner for value in inputs for inner in (value if isinstance(value, list) else [value])]
    return [value for value in flat if isinstance(value, _TensorMetadata) and value.sizes]


def _observer_tree(rows: list[Row]) -> list[Node]:
    children: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        children.setdefault(row.parent, []).append(place)

    def node(place: int) -> Node:
        row = rows[place]
        return row.name, row.sizes, [node(child) for child in children.get(place, [])]

    (window,) = [place for place, row in enumerate(rows) if row.name == WINDOW]
    return node(window)[2]


@pytest.mark.parametrize("workload", [transformer_step, convolution_step, lists_and_scalars])
def test_both_record_the_same_tree(workload: Callable[[], None], tmp_path: Path) -> None:
    one_thread()
    workload()
    profiler = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, acc_events=True
    )

    def both() -> None:
        with profiler, torch.profiler.record_function(WINDOW):
            workload()

    ours = _observer_tree(record(tmp_path / "run.perfprobe", both))
    assert ours == _profiler_tree(profiler.profiler.kineto_results.experimental_event_tree())
    assert len(ours) > 5
