"""The order of indices is judged from a sample, and indices are made in that order."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import perfprobe
from perfprobe.bench.rebuild.order import order_of
from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import schemas
from perfprobe.tables import storage
from perfprobe.tables.events import Signatures
from perfprobe.tables.measurements import Wanted
from perfprobe.tables.strings import Strings

Make = Callable[[int, random.Random], torch.Tensor]


def drawn(count: int, draw: random.Random, of: int = 4) -> torch.Tensor:
    return torch.randint(0, max(count * of, 2), (count,))


def strays(count: int, draw: random.Random) -> torch.Tensor:
    made = torch.arange(count)
    places = torch.randperm(count)[: count // 50]
    return made.index_copy(0, places, drawn(len(places), draw, count // len(places)))


def runs(count: int, draw: random.Random) -> torch.Tensor:
    run = draw.choice((8, 20, 50, 128))
    return drawn(count // run * run, draw).view(-1, run).sort(dim=1).values.reshape(-1)


def blocks(count: int, draw: random.Random) -> torch.Tensor:
    run = draw.choice((8, 32, 100))
    return (drawn(count // run, draw)[:, None] + torch.arange(run)).reshape(-1)


def columns(count: int, draw: random.Random) -> torch.Tensor:
    run = draw.choice((12, 40, 100))
    return torch.arange(count // run * run).view(-1, count // run).t().reshape(-1)


def shaken(count: int, draw: random.Random) -> torch.Tensor:
    window = draw.choice((3, 8, 64))
    return torch.arange(count)[(torch.arange(count) + window * torch.rand(count)).argsort()]


def clusters(count: int, draw: random.Random) -> torch.Tensor:
    first = torch.randint(0, 8 * count, (count // 50 + 1,)).repeat_interleave(50)[:count]
    return first + torch.randint(0, 64, (count,))


def skewed(count: int, draw: random.Random) -> torch.Tensor:
    """As the words of a text."""
    return (30_000 ** torch.rand(count)).long()


CASES: tuple[tuple[str, Make], ...] = (
    ("ascending", lambda count, _: torch.arange(count)),
    ("ascending", lambda count, _: 7 * torch.arange(count)),
    ("ascending", lambda count, draw: drawn(count, draw).sort().values),
    ("ascending", lambda count, draw: drawn(count, draw)[: count // 2].sort().values.repeat_interleave(2)),
    ("ascending", lambda count, _: (torch.arange(count) >= count // 3).long()),
    ("ascending", strays),
    ("descending", lambda count, _: torch.arange(count).flip(0)),
    ("descending", lambda count, draw: drawn(count, draw).sort(descending=True).values),
    ("runs", runs),
    ("runs", blocks),
    ("runs", columns),
    ("near", shaken),
    ("near", clusters),
    ("", drawn),
    ("", lambda count, _: torch.randperm(count)),
    ("", lambda count, _: torch.randint(0, 2, (count,))),
    ("", lambda count, _: torch.randint(0, 100, (count,))),
    ("", skewed),
    ("", lambda count, _: (100 * torch.randn(count)).long()),
    ("", lambda count, _: torch.full((count,), 5)),
)
ROUNDS = 15  # of cases: 300 in all


def digests(path: Path, tensors: list[torch.Tensor]) -> dict[int, dict[str, Any]]:
    """The digests by the recorder of tensors of different sizes, by size."""
    with perfprobe.profile(path):
        for tensor in tensors:
            torch.ops.aten.neg(tensor)
    recording = storage.read(path)
    signatures, strings = recording[Signatures], recording[Strings]
    rows = zip(signatures.text.tolist(), signatures.values.tolist(), strict=True)
    seen = {strings[text]: json.loads(strings[values])[0] for text, values in rows if values >= 0}
    return {len(tensor): seen[f"i64[{len(tensor)}]"] for tensor in tensors}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, torch.Tensor, dict[str, Any]]]:
    """For each case: the true order, the judged order, the tensor and its digest."""
    draw, made, sizes = random.Random(1), [], set[int]()
    torch.manual_seed(1)
    for kind, make in CASES * ROUNDS:
        tensor = make(round(1500 * 100 ** draw.random()), draw)
        while len(tensor) in sizes:
            tensor = tensor[:-1].clone()
        sizes.add(len(tensor))
        made.append((kind, tensor))
    seen = digests(tmp_path_factory.mktemp("order") / "it.perfprobe", [tensor for _, tensor in made])
    return [(kind, order_of(seen[len(one)]), one, seen[len(one)]) for kind, one in made]


def test_order_is_judged_correctly_in_99_of_100_cases(judged: list[tuple[str, str, Any, Any]]) -> None:
    wrong = [(kind, found, len(tensor), digest) for kind, found, tensor, digest in judged if kind != found]
    assert len(judged) == 300
    assert len(wrong) <= len(judged) / 100, wrong


def rebuilt(tensor: torch.Tensor, digest: dict[str, Any]) -> torch.Tensor:
    """The indices of a `take` call rebuilt from the digest."""
    below = int(tensor.max()) + 1
    wanted = Wanted("aten::take", f"f32[{below}] i64[{len(tensor)}]", values=json.dumps([None, digest]))
    call = Rebuilt(recipe(wanted, schemas(wanted.operator, torch), 1 << 30), torch)
    made: torch.Tensor = call.operands(0).args[1]
    assert int(made.min()) >= 0
    assert int(made.max()) < below
    return made


def test_rebuilt_indices_are_in_the_same_order(
    judged: list[tuple[str, str, torch.Tensor, dict[str, Any]]], tmp_path: Path
) -> None:
    """Neighbours are as far apart, up to a factor of 3."""
    some = judged[: 4 * len(CASES)]
    cases = [case for case in some if case[0] == case[1] and case[3]["step"] > 0]
    made = [rebuilt(tensor, digest) for _, _, tensor, digest in cases]
    seen = digests(tmp_path / "again.perfprobe", made)
    wrong = []
    for (kind, _, tensor, digest), again in zip(cases, (seen[len(one)] for one in made), strict=True):
        if order_of(again) != kind or not 1 / 3 <= again["step"] / digest["step"] <= 3:
            wrong.append((kind, order_of(again), len(tensor), digest, again))
    assert len(wrong) <= len(cases) / 20, wrong


@pytest.mark.parametrize(
    "digest", [{}, {"ascending": "x"}, {"ascending": 1, "trend": 1, "step": None, "far": 1}]
)
def test_without_an_order_there_is_none(digest: dict[str, Any]) -> None:
    assert order_of(digest) == ""
