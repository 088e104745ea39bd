"""DDP in one process: its reducer runs the same operators as with several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed, nn

from perfprobe.merge import link
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.trace import NoLine
from tests.collect.attribution import Marks
from tests.collect.recorded import one_thread, record
from tests.found import hotspots

pytestmark = pytest.mark.skipif(not distributed.is_available(), reason="this torch has no distributed")

at = Marks(__file__)
REDUCTION = "DDP gradient reduction"
STEPS = 3


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(256, 256)
        self.head = nn.Linear(256, 8)
        self.unused = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.body(x)))  # the model


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    store = distributed.FileStore(str(tmp_path_factory.mktemp("group") / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def averaged(_, bucket):  # type: ignore[no-untyped-def]  # torch looks at annotations
    halved = bucket.buffer().div(2.0)  # the hook
    work = distributed.all_reduce(halved, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def plain(model: Any) -> None:
    del model


def hooked(model: Any) -> None:
    model.register_comm_hook(None, averaged)


KINDS: dict[str, tuple[dict[str, Any], Callable[[Any], None]]] = {
    "plain": ({}, plain),
    "view": ({"gradient_as_bucket_view": True}, plain),
    "static": ({"static_graph": True}, plain),
    "unused": ({"find_unused_parameters": True}, plain),
    "hook": ({}, hooked),
}


def train(kind: str, *, keep: bool) -> int:
    """Trains; returns the number of elements of the gradients."""
    options, register = KINDS[kind]
    net = Net()
    if kind != "unused":
        del net.unused
    model = nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.1, **options)  # made
    register(model)
    for _ in range(STEPS):
        if kind == "plain":
            with model.no_sync():
                model(torch.ones(4, 256)).sum().backward()  # no reduction
        model(torch.ones(4, 256)).sum().backward()  # backward
        model.zero_grad(set_to_none=not keep)
    return sum(parameter.numel() for parameter in net.parameters())


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_operators_of_the_reducer_are_recognized(tmp_path: Path, kind: str, keep: bool) -> None:
    one_thread()
    path = tmp_path / "run.perfprobe"
    elements: list[int] = []
    rows = record(path, lambda: elements.append(train(kind, keep=keep)))
    made, hook = at("made", "train"), at("the hook", "averaged")
    backward = [row for row in rows if row.phase == "backward"]
    reduces = [row for row in backward if row.name == "c10d::allreduce_" and row.line == made]
    buckets = [row.sizes[0][0] for row in reduces if row.signature.startswith("(f32")]
    if kind == "hook":
        assert not reduces
        assert hook in {row.line for row in backward if row.name == "aten::div"}
    else:
        assert sum(buckets) == STEPS * elements[0]
        assert {row.module for row in reduces} == {""}
    copied = [row for row in backward if row.name.startswith("torch::distributed::reducer::")]
    assert {row.line for row in copied} <= {made}
    spots = hotspots(link(storage.read(path)))
    of_reason = {
        no_line: int(spots.rows.self_ns[spots.rows.no_line == no_line].sum())
        for no_line in NoLine
        if no_line is not NoLine.NONE
    }
    assert of_reason[NoLine.GRADIENT_REDUCTION] > 0
    named = (
        spots.totals.linked_ns + of_reason[NoLine.GRADIENT_REDUCTION] + of_reason[NoLine.NODE_WITHOUT_FORWARD]
    )
    assert named >= 0.99 * spots.totals.backward_ns


@pytest.mark.usefixtures("group")
def test_the_report_names_gradient_reduction(tmp_path: Path) -> None:
    one_thread()
    path = tmp_path / "run.perfprobe"
    record(path, lambda: train("plain", keep=False))
    results = Results(str(path))
    text = results.text(View(top=0))
    assert f"({REDUCTION})" in text
    rows = results.document(View())["tables"]["hotspots"]
    reduced = [row for row in rows if row["reason"] == REDUCTION]
    line = int(at("made", "train").partition(":")[2].partition(" ")[0])
    assert {row["line"] for row in reduced} == {line}
    copies = [row for row in reduced if row["operator"] == "torch::distributed::reducer::mul_out"]
    assert {(row["signature"], row["module"]) for row in copies} == {
        ("f32[256,256]", "body"),
        ("f32[256]", "body"),
        ("f32[8,256]", "head"),
        ("f32[8]", "head"),
    }
    lines = [row for row in results.document(View())["tables"]["lines"] if row["line"] == line]
    assert len(lines) == 1
