"""The reader of signatures, with texts of every kind and texts that no recorder writes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from torch import nn

from perfprobe.models.signature import Item, List, Scalar, Tensor, Undefined, parse, render
from tests.collect.recorded import record

PAIR = List("", (Scalar("", "1"), Scalar("", "2")))


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", ()),
        ("f32[64,128]", (Tensor("f32", (64, 128)),)),
        ("i64[]", (Tensor("i64", ()),)),
        ("f32[64,128]{1,64}@cuda:0 -", (Tensor("f32", (64, 128), (1, 64), device="cuda:0"), Undefined())),
        ("f32[2,3]@meta", (Tensor("f32", (2, 3), device="meta"),)),
        ("f32[symbolic] bf16[nested]", (Tensor("f32", None), Tensor("bf16", None))),
        ("f32[4]:sparse_coo:subclass", (Tensor("f32", (4,), layout="sparse_coo", subclass=True),)),
        ("dim=-1 keepdim=True", (Scalar("dim", "-1"), Scalar("keepdim", "True"))),
        (
            "(f32[2],-) 7 dims=(0,1)",
            (
                List("", (Tensor("f32", (2,)), Undefined())),
                Scalar("", "7"),
                List("dims", (Scalar("", "0"), Scalar("", "1"))),
            ),
        ),
        ("((1,2),(),(3))", (List("", (PAIR, List("", ()), List("", (Scalar("", "3"),)))),)),
        ("(1,2,...)", (List("", PAIR.items, whole=False),)),
        (r'equation="ij, jk)\"\\" x=1', (Scalar("equation", r'"ij, jk)\"\\"'), Scalar("x", "1"))),
        ("device=cuda:0 p=1e-05", (Scalar("device", "cuda:0"), Scalar("p", "1e-05"))),
        ("f32[99999999999999999999]", (Tensor("f32", None),)),
        ("f32[2,3", (Scalar("", "f32[2"), Scalar("", "3"))),
    ],
)  # fmt: skip
def test_signatures_are_read(text: str, items: tuple[Item, ...]) -> None:
    assert parse(text) == items
    assert parse(render(items)) == items


@pytest.mark.parametrize("text", ["(", ")", "(1", "1)", "((1)", "(" * 9 + ")" * 9, "x" * (1 << 19), 'a="b'])
def test_invalid_signatures_are_refused(text: str) -> None:
    found = parse(text)
    assert found is None or found == (Scalar("a", '"b'),)


def test_random_text_is_read_or_refused_and_never_raises() -> None:
    random.seed(7)
    for _ in range(20_000):
        parse("".join(random.choices('f32[]{}(),- "\\=@:a.1\n٣', k=random.randrange(30))))
    assert parse("f32[" + "1," * 100_000 + "1]") is not None
    assert parse("(" * 100_000) is None


def drawn(depth: int) -> Item:
    """Random inputs that a recorder may see."""
    numbers = tuple(random.randrange(1 << 40) for _ in range(random.randrange(4)))
    named = random.choice(["", "dim", "memory_format"])
    kind = random.randrange(4 if depth else 3)
    if kind == 0:
        strides = random.choice([None, numbers])
        marks = random.choice([("strided", "cpu", False), ("sparse_csr", "cuda:1", True)])
        return Tensor("bf16", random.choice([None, numbers]), strides, *marks)
    if kind == 1:
        return Scalar(named, random.choice(["-1", "float", r'"a (\"b, "', "cuda:0", "1e-05", "True"]))
    if kind == 2:
        return Undefined()
    return List(named, tuple(drawn(depth - 1) for _ in range(random.randrange(4))), random.random() < 0.5)


def test_written_signatures_are_read_back() -> None:
    random.seed(7)
    for _ in range(5_000):
        items = tuple(drawn(4) for _ in range(random.randrange(5)))
        assert parse(render(items)) == items


def test_recorded_texts_are_written_unchanged(tmp_path: Path) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    optimizer = torch.optim.Adam(layer.parameters())

    def run() -> None:
        layer(torch.ones(2, 4, 8)).sum().backward()
        optimizer.step()
        torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 2).t().t())
        torch.ones(3)[torch.tensor([True, False, True])].to("meta")

    signatures = {row.signature for row in record(tmp_path / "run.perfprobe", run)}
    assert len(signatures) > 50
    for text in signatures:
        items = parse(text)
        assert items is not None
        assert render(items) == text


def test_recorded_texts_give_the_inputs_of_the_call(tmp_path: Path) -> None:
    convolution = nn.Conv2d(3, 6, 3, stride=2)

    def run() -> None:
        convolution(torch.ones(2, 8, 8, 3).permute(0, 3, 1, 2))

    (row,) = [row for row in record(tmp_path / "run.perfprobe", run) if row.name == "aten::conv2d"]
    pairs = [List(name, (Scalar("", text),) * 2) for name, text in (("stride", "2"), ("padding", "0"))]
    assert parse(row.signature) == (
        Tensor("f32", (2, 3, 8, 8), (192, 1, 24, 3)),
        Tensor("f32", (6, 3, 3, 3)),
        Tensor("f32", (6,)),
        *pairs,
        List("dilation", (Scalar("", "1"),) * 2),
        Scalar("groups", "1"),
    )
