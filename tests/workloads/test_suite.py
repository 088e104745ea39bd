"""The suite of operators contains every operator of the article's table, and every case can be rebuilt."""

from collections.abc import Sequence

import pytest

from benchmarks.expected import LISTS
from benchmarks.expected.expectation import Expected
from benchmarks.operators.__main__ import families
from benchmarks.operators.case import Case
from perfprobe.bench.rebuild.recipe import NotRebuilt
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import schemas
from perfprobe.tables.measurements import Wanted

torch = pytest.importorskip("torch")

# https://gist.github.com/mingfeima/e08310d7e7bb9ae2a693adecf2d8a916. The two gradients of oneDNN are one
# operator now.
ARTICLE = (
    *(
        "bmm",
        "div",
        "copy_",
        "mm",
        "mul",
        "bernoulli_",
        "native_layer_norm_backward",
        "_softmax_backward_data",
    ),
    *("_softmax", "masked_fill_", "mkldnn_convolution", "convolution_backward", "embedding_dense_backward"),
    *("add_", "div_", "sum", "add", "empty", "mul_"),
)
CASES = [(family, case) for family, cases in families().items() for case in cases]


def test_every_operator_of_the_article_is_in_the_suite() -> None:
    names = {case.operator.removeprefix("aten::").partition(".")[0] for _, case in CASES}
    assert set(ARTICLE) <= names


def test_names_are_unique_and_every_shape_has_a_reason() -> None:
    assert len({(family, case.name) for family, case in CASES}) == len(CASES)
    assert all(case.why.endswith(".") for _, case in CASES)


EXPECTED = [one for found in LISTS.values() for one in found]


@pytest.mark.parametrize("calls", [[case for _, case in CASES], EXPECTED], ids=["cases", "expectations"])
def test_every_call_can_be_rebuilt(calls: Sequence[Case | Expected]) -> None:
    refused = {}
    for each in calls:
        wanted = Wanted(each.operator, each.inputs, each.inputs, each.values)
        try:
            recipe(wanted, schemas(each.operator, torch))
        except NotRebuilt as error:
            refused[each.name] = str(error)
    assert refused == {}
