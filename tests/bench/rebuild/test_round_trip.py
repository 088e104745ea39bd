"""A program's calls, rebuilt from recorded signatures and recorded again, have the same signatures."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.rebuild.recipe import NotRebuilt
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import schemas
from perfprobe.tables.measurements import Wanted
from tests.bench.rebuild.calls import tensors_in
from tests.collect.recorded import Row, record

# These change what a tensor is, or belong to autograd.
REFUSED = {
    f"aten::{name}"
    for name in ("resize_", "resize_as_", "detach_", "as_strided_", "unsqueeze_", "lift_fresh")
}


def training() -> None:
    torch.manual_seed(0)
    image = torch.randn(2, 3, 9, 9)
    stem = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8)
    ).to(memory_format=torch.channels_last)
    block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    recurrent, words, head = nn.LSTM(8, 8, batch_first=True), nn.Embedding(11, 8), nn.Linear(8, 11)
    parts = nn.ModuleList([stem, block, recurrent, words, head])
    plain = torch.optim.Adam(parts.parameters(), fused=True)
    momentum = torch.optim.SGD(parts.parameters(), momentum=0.9, foreach=True)
    target = torch.randint(0, 11, (2, 9))
    for optimizer in (plain, momentum):
        features = functional.max_pool2d(stem(image), 3, 1, 1).flatten(2).transpose(1, 2)
        hidden, _ = recurrent(block(features) + words(target))
        loss = functional.cross_entropy(head(hidden).transpose(1, 2), target, ignore_index=3)
        loss.backward()
        nn.utils.clip_grad_norm_(parts.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def odd_calls() -> None:
    torch.manual_seed(0)
    a, b = torch.rand(4, 6), torch.rand(6, 4)
    a.div(b.t(), rounding_mode="floor")
    a.expand(3, 4, 6).bmm(b.expand(3, 6, 4)).sum(dim=(0, 2), keepdim=True)
    a[:, ::2].add(b.unfold(0, 2, 1)[0, 0, 0])
    a.bfloat16() @ b.bfloat16()
    torch.complex(a, a).abs().clamp_(min=0.5)
    a.index_put_((torch.tensor([0, 2]), torch.tensor([1, 1])), torch.ones(2), accumulate=True)
    a[a > 0.5] = torch.zeros(int((a > 0.5).sum()))
    a.masked_fill(a < 0.5, float("-inf")).softmax(-1, dtype=torch.float64)
    a.gather(1, torch.zeros(4, 2, dtype=torch.long)).bernoulli_(0.9)
    functional.gelu(a, approximate="tanh").topk(2)
    functional.embedding_bag(torch.tensor([1, 2, 3]), b, torch.tensor([0, 2]))
    q, k, v = torch.rand(3, 1, 2, 5, 8)
    functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.empty(3, 2, dtype=torch.float16, memory_format=torch.contiguous_format).to(torch.int32)
    torch.cat([a, a.to(torch.float64)], 1).argsort(stable=True)
    torch.einsum("ij,jk->ik", a, b)
    torch.arange(0, 10, 2, out=torch.empty(5, dtype=torch.long))


def wanted(rows: list[Row]) -> dict[tuple[str, str], Wanted]:
    found: dict[tuple[str, str], Wanted] = {}
    for row in rows:
        if row.name.startswith("aten::"):
            name = f"{row.name}.{row.overload}" if row.overload else row.name
            found.setdefault((name, row.signature), Wanted(name, row.signature, row.example))
    return found


def test_rebuilt_calls_have_the_same_signatures_and_finite_results(tmp_path: Path) -> None:
    odd = wanted(record(tmp_path / "odd.perfprobe", odd_calls))
    first = {**odd, **wanted(record(tmp_path / "training.perfprobe", training))}
    run: list[tuple[str, str]] = []
    refused: set[str] = set()
    results: dict[str, list[torch.Tensor]] = {}

    def again() -> None:
        for key, call in first.items():
            try:
                made = Rebuilt(recipe(call, schemas(call.operator, torch)), torch)
                made_of = tensors_in(made.run(made.operands(0)))
            except NotRebuilt:
                refused.add(key[0].partition(".")[0])
            else:
                run.append(key)
                if key not in odd and "empty" not in key[0]:
                    results.setdefault(key[0], []).extend(made_of)

    second = wanted(record(tmp_path / "second.perfprobe", again))
    assert refused <= REFUSED
    assert len(first) > 300
    assert len(run) > 0.95 * len(first)
    assert [key for key in run if key not in second] == []
    assert [key for key in run if first[key].example != second[key].example] == []
    finite = {name: all(bool(each.isfinite().all()) for each in found) for name, found in results.items()}
    assert len(finite) > 100
    assert [name for name, is_finite in finite.items() if not is_finite] == []
