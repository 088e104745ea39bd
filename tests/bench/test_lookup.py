"""Calls that torch cannot make: the reason, and suggestions."""

from __future__ import annotations

import pytest

from perfprobe.bench.lookup import _hint
from perfprobe.bench.rebuild.recipe import NotRebuilt
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import schemas
from perfprobe.tables.measurements import Wanted

torch = pytest.importorskip("torch")
EXPECTED = "expected bmm(Tensor self, Tensor mat2) -> Tensor, or another of its"


@pytest.mark.parametrize(
    ("operator", "inputs", "why", "hint"),
    [
        ("aten::bmm", "", "self is missing", EXPECTED),
        ("aten::bmm", "f32[2,3,4] f32[2,4,5] colour=1", "it has no argument colour", EXPECTED),
        (
            "mine::window",
            "f32[2]",
            "an operator of a library that is not loaded here",
            "nearest: aten::hann_window",
        ),
    ],
)
def test_reasons_and_suggestions_for_impossible_calls(
    operator: str, inputs: str, why: str, hint: str
) -> None:
    wanted = Wanted(operator, inputs)
    with pytest.raises(NotRebuilt, match=why):
        recipe(wanted, schemas(operator, torch))
    assert _hint(wanted, torch).startswith(hint)
