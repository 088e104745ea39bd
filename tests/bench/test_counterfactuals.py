"""Changed calls: their texts, and that torch accepts them."""

from __future__ import annotations

import json
from math import prod

import pytest
import torch

from perfprobe.bench.counterfactuals import Change, changes
from perfprobe.bench.rebuild.recipe import CallRecipe, TensorRecipe
from perfprobe.models.signature import List, Tensor, parse, tensors
from perfprobe.tables.measurements import Wanted
from tests.snapshots import Snapshot

DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "bool": torch.bool,
}


def made(wanted: Wanted, *, written: bool = False) -> CallRecipe:
    """The recipe of a call whose first arguments are its tensors. `written`: it writes the first one."""

    def recipe(tensor: Tensor, place: int) -> TensorRecipe:
        return TensorRecipe(
            tensor.dtype, tensor.sizes or (), tensor.strides, "cpu", "uniform", written=written and place == 0
        )

    name, _, overload = wanted.operator.partition(".")
    items = parse(wanted.signature)
    assert items is not None
    arguments: list[TensorRecipe | tuple[TensorRecipe, ...]] = []
    for place, item in enumerate(items):
        if isinstance(item, Tensor):
            arguments.append(recipe(item, place))
        elif isinstance(item, List) and list(tensors([item])):
            arguments.append(tuple(recipe(tensor, place) for tensor in tensors([item])))
    return CallRecipe(name, overload, tuple(arguments))


def of(wanted: Wanted, kind: str, threads: int = 1, *, written: bool = False) -> list[Change]:
    found = changes(wanted, made(wanted, written=written), threads)
    return [change for change in found if change.kind == kind]


def texts(found: list[Change]) -> list[tuple[str, str]]:
    return [(change.change, change.wanted.signature) for change in found]


def run(wanted: Wanted) -> torch.Tensor:
    """Makes the call with torch, with tensors of ones in the layout of the signature."""
    items = parse(wanted.signature)
    assert items is not None
    operands = []
    for tensor in tensors(items):
        assert tensor.sizes is not None
        made = torch.empty(tensor.sizes, dtype=DTYPES[tensor.dtype])
        if tensor.strides is not None:
            made = torch.empty_strided(tensor.sizes, tensor.strides, dtype=DTYPES[tensor.dtype])
            assert made.stride() == tensor.strides
        operands.append(made.fill_(1))
    result = getattr(torch.ops.aten, wanted.operator.partition("::")[2])(*operands)
    assert isinstance(result, torch.Tensor)
    return result


PADDED = [
    ("mm", "f32[64,13] f32[13,32]", [("K 13→16", "f32[64,16] f32[16,32]")]),
    (
        "mm",
        "f64[13,13] f64[13,13]",
        [
            ("M 13→16, N 13→16, K 13→16", "f64[16,16] f64[16,16]"),
            ("K 13→16", "f64[13,16] f64[16,13]"),
            ("N 13→16", "f64[13,13] f64[13,16]"),
        ],
    ),
    (
        "addmm",
        "f32[9] f32[13,16] f32[16,9]",
        [
            ("M 13→16, N 9→16", "f32[16] f32[16,16] f32[16,16]"),
            ("N 9→16", "f32[16] f32[13,16] f32[16,16]"),
        ],
    ),
    ("mm", "f64[24,20] f64[20,8]", [("K 20→24", "f64[24,24] f64[24,8]")]),
    ("mm", "f32[64,20]{1,64} f32[20,32]", [("K 20→32", "f32[64,32]{1,64} f32[32,32]")]),
    ("mm", "f32[20,64]{1,20} f32[64,32]", [("M 20→32", "f32[32,64]{1,32} f32[64,32]")]),
    ("mm", "f32[20,64]{128,1} f32[64,32]", [("M 20→32", "f32[32,64]{128,1} f32[64,32]")]),
    ("mm", "f32[1,64] f32[64,7]", [("N 7→8", "f32[1,64] f32[64,8]")]),
    ("bmm", "f32[5,16,13]{0,1,16} f32[5,13,16]", [("K 13→16", "f32[5,16,16]{0,1,16} f32[5,16,16]")]),
    ("bmm", "f32[3,13,16]{16,48,1} f32[3,16,16]", [("M 13→16", "f32[3,16,16]{16,48,1} f32[3,16,16]")]),
    (
        "baddbmm",
        "f32[1,13] f32[2,32,16] f32[2,16,13]",
        [("N 13→16", "f32[1,16] f32[2,32,16] f32[2,16,16]")],
    ),
    ("addmm", "f32[100] f32[64,32] f32[32,100]", [("N 100→112", "f32[112] f32[64,32] f32[32,112]")]),
    ("addmm", "f32[1] f32[9,32] f32[32,16]", [("M 9→16", "f32[1] f32[16,32] f32[32,16]")]),
    ("addmv", "f32[13] f32[13,32] f32[32]", [("M 13→16", "f32[16] f32[16,32] f32[32]")]),
    ("linear", "f32[2,3,13] f32[16,13] f32[16]", [("K 13→16", "f32[2,3,16] f32[16,16] f32[16]")]),
    ("mm", "f32[16,4] f32[4,8]", []),
    ("mm", "f32[16,13] f32[14,16]", []),
    ("mm", "f32[16,13]", []),
    ("add", "f32[13,13] f32[13,13]", []),
]


@pytest.mark.parametrize(("name", "signature", "expected"), PADDED)
def test_products_are_padded_the_same_way_in_all_operands(
    name: str, signature: str, expected: list[tuple[str, str]]
) -> None:
    found = of(Wanted(f"aten::{name}", signature), "padded")
    assert texts(found) == expected
    for change in found:
        result = run(change.wanted)
        lengths = dict(part.split(" ") for part in change.change.split(", "))
        depth = int(lengths.get("K", "→0").split("→")[1])
        assert result.max() >= depth
        rows_and_columns = {int(text.split("→")[1]) for key, text in lengths.items() if key != "K"}
        assert rows_and_columns <= set(result.shape)


def test_padding_an_out_and_an_in_place_product() -> None:
    found = of(Wanted("aten::mm.out", "f32[16,16] f32[16,13] f32[16,13]"), "padded", written=True)
    assert texts(found) == [("N 13→16", "f32[16,16] f32[16,16] f32[16,16]")]
    found = of(Wanted("aten::addmm_", "f32[16,13] f32[16,16] f32[16,13]"), "padded", written=True)
    assert texts(found) == [("N 13→16", "f32[16,16] f32[16,16] f32[16,16]")]


def test_an_example_changes_like_its_signature() -> None:
    wanted = Wanted(
        "aten::addmm",
        "f32[13] f32[16,16] f32[16,13] beta=float alpha=1",
        "f32[13] f32[16,16] f32[16,13] beta=0.5 alpha=1",
    )
    (change,) = of(wanted, "padded")
    assert change.wanted.signature == "f32[16] f32[16,16] f32[16,16] beta=float alpha=1"
    assert change.wanted.example == "f32[16] f32[16,16] f32[16,16] beta=0.5 alpha=1"


def test_an_example_of_another_call_is_dropped() -> None:
    (change,) = of(Wanted("aten::mm", "f32[16,13] f32[13,16]", "f32[16,13]"), "padded")
    assert change.wanted.example == ""


def test_scattered_operands_are_made_contiguous() -> None:
    wanted = Wanted("aten::div.Tensor", "f32[64,128] f32[64,128]{1,64}")
    assert texts(of(wanted, "contiguous")) == [("contiguous operand 2", "f32[64,128] f32[64,128]")]
    (change,) = of(wanted, "contiguous with copy")
    assert change.wanted == wanted
    assert change.copied == (1,)


def test_tensors_of_a_list_are_made_contiguous() -> None:
    wanted = Wanted("aten::cat", "(f32[64,8]{1,64},f32[64,8]) dim=1")
    assert texts(of(wanted, "contiguous")) == [("contiguous operand 1", "(f32[64,8],f32[64,8]) dim=1")]
    assert [change.copied for change in of(wanted, "contiguous with copy")] == [(0,)]


@pytest.mark.parametrize(
    "strides", ["{0,1}", "{1,0}", "{256,1}", "{0,0}"], ids=["rows repeat", "columns repeat", "gaps", "one"]
)
def test_rows_with_gaps_or_repeats_are_not_changed(strides: str) -> None:
    assert not of(Wanted("aten::exp", f"f32[64,128]{strides}"), "contiguous")


def test_written_operands_are_not_copied() -> None:
    wanted = Wanted("aten::add_.Tensor", "f32[64,128]{1,64} f32[64,128]")
    assert of(wanted, "contiguous", written=True)
    assert not of(wanted, "contiguous with copy", written=True)
    transposed = Wanted("aten::copy_", "f32[64,128] f32[64,128]{1,64}")
    assert not of(transposed, "contiguous with copy", written=True)


def test_one_thread_is_tried_if_the_program_had_more() -> None:
    wanted = Wanted("aten::add.Tensor", "f32[64,128] f32[64,128]", threads=2)
    assert [change.wanted.threads for change in of(wanted, "threads", 2)] == [1]
    assert not of(wanted, "threads", 1)
    assert not of(Wanted("aten::add.Tensor", "f32[16] f32[16]"), "threads", 2)
    assert not of(Wanted("aten::add.Tensor", "f32[64,128]@cuda:0 f32[64,128]@cuda:0"), "threads", 2)


def test_all_threads_are_tried_if_the_program_had_one() -> None:
    wanted = Wanted("aten::add.Tensor", "f32[64,128] f32[64,128]")
    (change,) = [one for one in changes(wanted, made(wanted), 1, None, 6) if one.kind == "threads"]
    assert (change.change, change.wanted.threads) == ("1→6 threads", 6)
    assert not [one for one in changes(wanted, made(wanted), 1, None, 1) if one.kind == "threads"]


@pytest.mark.parametrize(
    ("operator", "signature", "expected"),
    [
        (
            "aten::convolution",
            "f32[2,16,8,8] f32[4,16,3,3] f32[4] stride=(1,1)",
            "f32[2,16,8,8]{1024,1,128,16} f32[4,16,3,3]{144,1,48,16} f32[4] stride=(1,1)",
        ),
        ("aten::convolution", "f32[2,16,8,8] f32[4,16,1,1]", "f32[2,16,8,8]{1024,1,128,16} f32[4,16,1,1]"),
        ("aten::native_batch_norm", "f32[2,16,8,8] f32[16]", "f32[2,16,8,8]{1024,1,128,16} f32[16]"),
        ("aten::convolution", "f32[2,16,8,8]{1024,1,128,16} f32[4,16,3,3]{144,1,48,16}", None),
        ("aten::convolution", "f32[2,1,8,8] f32[4,1,3,3]", None),
        ("aten::convolution", "f32[2,16,8] f32[4,16,3]", None),
        ("aten::add.Tensor", "f32[2,16,8,8] f32[2,16,8,8]", None),
    ],
)
def test_channels_last_is_tried(operator: str, signature: str, expected: str | None) -> None:
    found = of(Wanted(operator, signature), "channels_last")
    assert texts(found) == ([] if expected is None else [("channels_last", expected)])
    for change in found:
        items = parse(change.wanted.signature)
        assert items is not None
        image = next(iter(tensors(items)))
        last = torch.empty(image.sizes or ()).contiguous(memory_format=torch.channels_last)
        assert last.stride() == image.strides


def test_channels_last_is_tried_for_volumes() -> None:
    (change,) = of(Wanted("aten::convolution", "f32[2,16,4,8,8] f32[4,16,1,1,1]"), "channels_last")
    volume = torch.empty(2, 16, 4, 8, 8).contiguous(memory_format=torch.channels_last_3d)
    assert change.wanted.signature.split()[0] == f"f32[2,16,4,8,8]{{{','.join(map(str, volume.stride()))}}}"


@pytest.mark.parametrize(
    ("operator", "signature", "expected"),
    [
        ("aten::mm", "f32[8,8] f32[8,8]", "bf16[8,8] bf16[8,8]"),
        ("aten::mm", "bf16[8,8] bf16[8,8]", "f32[8,8] f32[8,8]"),
        ("aten::addmm", "f16[8] f16[8,8] f16[8,8] beta=1", "f32[8] f32[8,8] f32[8,8] beta=1"),
        ("aten::mm", "i8[8,8] i8[8,8]", "f32[8,8] f32[8,8]"),
        ("aten::mm", "i64[8,8] i64[8,8]", None),
        ("aten::add.Tensor", "bf16[8] bf16[8]", None),
        (
            "aten::convolution",
            "f32[1,3,8,8] f32[4,3,3,3] - groups=1",
            "bf16[1,3,8,8] bf16[4,3,3,3] - groups=1",
        ),
        ("aten::add.Tensor", "f64[8] f32[8] alpha=1", "f32[8] f32[8] alpha=1"),
        ("aten::div.Tensor", "f32[8] f64[1]", "f32[8] f32[1]"),
        ("aten::div.Tensor", "f32[8] f64[]", None),
        ("aten::sum.dim_IntList", "f64[8] dim=(0) dtype=f64", "f32[8] dim=(0) dtype=f32"),
        ("aten::add.Tensor", "f32[8] f32[8]", None),
        ("aten::mm.dtype", "f32[8,8] f32[8,8] out_dtype=f64", None),
        ("aten::copy_", "f64[8] f64[8]", None),
    ],
)
def test_other_dtypes_are_tried(operator: str, signature: str, expected: str | None) -> None:
    found = of(Wanted(operator, signature), "dtype")
    assert [change.wanted.signature for change in found] == ([] if expected is None else [expected])


def test_a_product_dtype_names_the_products_that_decide() -> None:
    (product,) = of(Wanted("aten::mm", "f16[8,8] f16[8,8]"), "dtype")
    assert (product.products, product.convolves) == (("f16", "f32"), False)
    (convolution,) = of(Wanted("aten::convolution", "f32[1,3,8,8] f32[4,3,3,3] - groups=1"), "dtype")
    assert (convolution.products, convolution.convolves) == (("f32", "bf16"), True)
    (plain,) = of(Wanted("aten::add.Tensor", "f64[8] f64[8]"), "dtype")
    assert plain.products is None


FLOATS = {"zeros": 0.0, "negatives": 0.0, "denormals": 0.0, "nonfinite": 0.0}


@pytest.mark.parametrize(
    ("operator", "signature", "seen", "change", "expected"),
    [
        (
            "aten::masked_fill_.Scalar",
            "f32[64] bool[64] value=float",
            [FLOATS, {"true": 0.45}],
            "mask 45 %→1 % true",
            [FLOATS, {"true": 0.01}],
        ),
        (
            "aten::where.self",
            "bool[64] f32[64] f32[64]",
            [{"true": 0.001}, None, None],
            "mask 0.1 %→50 % true",
            [{"true": 0.5}, None, None],
        ),
        (
            "aten::mul.Tensor",
            "f32[64] f32[64]",
            [{**FLOATS, "denormals": 0.25}, FLOATS],
            "denormals 25 %→0 %",
            [FLOATS, FLOATS],
        ),
        ("aten::sqrt", "f32[64]", [{**FLOATS, "zeros": 0.75}], "zeros 75 %→0 %", [FLOATS]),
        (
            "aten::threshold_backward",
            "f32[64] f32[64] threshold=0",
            [FLOATS, {**FLOATS, "zeros": 0.25, "negatives": 0.25}],
            "inputs not above 0 50 %→0 %",
            [FLOATS, FLOATS],
        ),
        (
            "aten::embedding_dense_backward",
            "f32[64,8] i64[64] num_weights=100",
            [FLOATS, {"lowest": 3, "highest": 99, "distinct": 0.4}],
            "all indices equal",
            [FLOATS, {"lowest": 99, "highest": 99, "distinct": 0.0}],
        ),
    ],
)
def test_other_values_are_tried(
    operator: str, signature: str, seen: list[object], change: str, expected: list[object]
) -> None:
    (found,) = of(Wanted(operator, signature, values=json.dumps(seen)), "values")
    assert found.change == change
    assert json.loads(found.wanted.values) == expected
    assert found.wanted.signature == signature


def test_a_mask_without_a_digest() -> None:
    (found,) = of(Wanted("aten::nonzero", "bool[64]"), "values")
    assert (found.change, json.loads(found.wanted.values)) == ("mask 50 %→1 % true", [{"true": 0.01}])


def test_a_mask_with_a_nonsensical_digest() -> None:
    (found,) = of(Wanted("aten::nonzero", "bool[64]", values='[{"true": "x"}]'), "values")
    assert found.change == "mask 50 %→1 % true"


def test_an_omitted_index_is_not_changed() -> None:
    call = "aten::embedding_dense_backward", "f32[64,8] i64[64] num_weights=100 padding_idx={}"
    assert of(Wanted(call[0], call[1].format(-1)), "values")
    assert not of(Wanted(call[0], call[1].format(0)), "values")


def test_old_contents_of_a_result_are_not_varied() -> None:
    tiny = json.dumps([{**FLOATS, "denormals": 0.5}])
    assert not of(Wanted("aten::normal_", "f32[64]", values=tiny), "values", written=True)
    found = json.dumps([FLOATS, FLOATS, {**FLOATS, "denormals": 0.5}])
    assert not of(Wanted("aten::add.out", "f32[64] f32[64] f32[64]", values=found), "values")


def test_another_probability_is_tried() -> None:
    wanted = Wanted("aten::bernoulli_.float", "f32[64] p=float", "f32[64] p=0.9")
    (found,) = of(wanted, "values", written=True)
    assert (found.change, found.wanted.example) == ("p 0.9→0.5", "f32[64] p=0.5")


@pytest.mark.parametrize(
    "values",
    [
        "",
        "[",
        "{}",
        "[1]",
        "[[]]",
        '[{"denormals": "x"}]',
        '[{"denormals": NaN}]',
        '[{"denormals": 1' + "0" * 400 + "}]",
        '[{"zeros": 1, "denormals": 1}]',
        "[" * 100_000,
    ],
)
def test_values_of_a_damaged_recording_are_ignored(values: str) -> None:
    assert not of(Wanted("aten::mul.Tensor", "f32[64] f32[64]", values=values), "values")


def test_recycling_is_tried_for_large_outputs() -> None:
    large, small = "f32[512,512] f32[512,512]", "f32[64,64] f32[64,64]"
    assert [change.recycled for change in of(Wanted("aten::add.Tensor", large), "recycled output")] == [True]
    assert not of(Wanted("aten::add.Tensor", small), "recycled output")
    assert not of(Wanted("aten::add_.Tensor", large), "recycled output", written=True)


@pytest.mark.parametrize(
    "signature",
    ["f32[symbolic]{1,2}", "f32[8]:sparse_coo", "f32[8]:subclass", "f32[99999999999999999999]", "("],
)
def test_calls_that_cannot_be_rebuilt_are_not_changed(signature: str) -> None:
    recipe = CallRecipe("aten::mm", "", ())
    assert changes(Wanted("aten::mm", signature), recipe, 2) == ()


def test_views_are_not_changed() -> None:
    view = Wanted("aten::transpose.int", "f64[512,512]{1,512} dim0=0 dim1=1", threads=2)
    assert changes(view, made(view), 2) == ()


def test_there_are_at_most_eight_changes(snapshot: Snapshot) -> None:
    wanted = Wanted("aten::bmm", "f32[64,130,130]{16900,1,130} f32[64,130,130]")
    found = changes(wanted, made(wanted), 2)
    snapshot("\n".join(change.kind for change in found))
    assert prod(run(found[3].wanted).shape) == 64 * 144 * 144
