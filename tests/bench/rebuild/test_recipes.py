"""From signatures to recipes, with schemas as plain data, without torch."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from perfprobe.bench.rebuild.recipe import CallRecipe, DtypeRecipe, NotRebuilt, TensorRecipe
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import Parameter, Schema, split
from perfprobe.tables.measurements import Wanted

T = "Tensor"
DIV = (
    Schema("aten::div", "Tensor", (Parameter("self", T), Parameter("other", T))),
    Schema("aten::div", "Scalar", (Parameter("self", T), Parameter("other", "number"))),
    Schema(
        "aten::div",
        "Tensor_mode",
        (
            Parameter("self", T),
            Parameter("other", T),
            Parameter("rounding_mode", "str", optional=True, keyword_only=True),
        ),
    ),
    Schema(
        "aten::div",
        "out",
        (
            Parameter("self", T),
            Parameter("other", T),
            Parameter("out", T, keyword_only=True, written=True),
        ),
    ),
)
SUM = (
    Schema("aten::sum", "", (Parameter("self", T), Parameter("dtype", "ScalarType", optional=True))),
    Schema(
        "aten::sum",
        "dim_IntList",
        (
            Parameter("self", T),
            Parameter("dim", "List[int]", optional=True, length=1),
            Parameter("keepdim", "bool", has_default=True, default=False),
        ),
    ),
)
LAYER_NORM_BACKWARD = (
    Schema(
        "aten::native_layer_norm_backward",
        "",
        (
            Parameter("grad_out", T),
            Parameter("input", T),
            Parameter("normalized_shape", "List[int]"),
            Parameter("mean", T),
            Parameter("rstd", T),
            Parameter("weight", T, optional=True),
            Parameter("bias", T, optional=True),
            Parameter("output_mask", "List[bool]"),
        ),
    ),
)
MUL_ = (Schema("aten::mul_", "Tensor", (Parameter("self", T, written=True), Parameter("other", T))),)
BERNOULLI_ = (
    Schema(
        "aten::bernoulli_",
        "float",
        (
            Parameter("self", T, written=True),
            Parameter("p", "float", has_default=True, default=0.5),
            Parameter("generator", "Generator", optional=True, keyword_only=True),
        ),
    ),
)
EMBEDDING = (Schema("aten::embedding", "", (Parameter("weight", T), Parameter("indices", T))),)
FOREACH_SQRT = (Schema("aten::_foreach_sqrt", "", (Parameter("self", "List[Tensor]"),)),)


def made(schemas: tuple[Schema, ...], signature: str, example: str = "", values: str = "") -> CallRecipe:
    return recipe(Wanted(schemas[0].operator, signature, example, values), schemas)


@pytest.mark.parametrize(
    ("schemas", "signature", "overload", "arguments"),
    [
        (DIV, "f32[2,3] f32[2,3]", "Tensor", 2),
        (DIV, "f32[2,3] 2.5", "Scalar", 2),
        (DIV, "f32[2,3] other=2", "Scalar", 2),
        (DIV, 'f32[2,3] f32[3] rounding_mode="floor"', "Tensor_mode", 2),
        (DIV, "f32[2,3] f32[2,3] f32[2,3]", "out", 2),
        (SUM, "f32[2,3]", "", 2),
        (SUM, "f32[2,3] dim=(1)", "dim_IntList", 3),
        (SUM, "f32[2,3] dim=1 keepdim=True", "dim_IntList", 3),
        (SUM, "f32[2,3] dtype=f64", "", 2),
    ],
)
def test_the_overload_is_found_by_the_inputs(
    schemas: tuple[Schema, ...], signature: str, overload: str, arguments: int
) -> None:
    found = made(schemas, signature)
    assert (found.overload, len(found.arguments)) == (overload, arguments)


def test_undefined_tensors_lists_and_omitted_arguments() -> None:
    text = (
        "bf16[4,8] bf16[4,8]{1,4} normalized_shape=(8) f32[4,1] f32[4,1] - - output_mask=(True,False,False)"
    )
    found = made(LAYER_NORM_BACKWARD, text)
    tensors = list(found.tensors())
    assert [tensor.dtype for tensor in tensors] == ["bfloat16", "bfloat16", "float32", "float32"]
    assert (tensors[1].sizes, tensors[1].strides) == ((4, 8), (1, 4))
    assert found.arguments[2] == (8,)
    assert found.arguments[5:] == (None, None, (True, False, False))
    assert found.saved == "layer_norm"
    assert made(SUM, "f32[2] dtype=bf16").arguments[1] == DtypeRecipe("bfloat16")


def test_floats_come_from_the_example_or_are_noted() -> None:
    known = made(BERNOULLI_, "f32[8] p=float", "f32[8] p=0.9")
    assert (known.arguments[1], known.notes) == (0.9, ())
    unknown = made(BERNOULLI_, "f32[8] p=float generator=Generator")
    assert unknown.arguments[1] == 0.5
    assert unknown.keywords == {"generator": None}
    assert len(unknown.notes) == 2
    other = made(BERNOULLI_, "f32[8] p=float", "f32[9] p=0.9")  # of another call
    assert other.arguments[1] == 0.5


COPY_ = (
    Schema(
        "aten::copy_",
        "",
        (
            Parameter("self", T, written=True),
            Parameter("src", T),
            Parameter("non_blocking", "bool", has_default=True, default=False),
        ),
    ),
)
CONVOLUTION = (
    Schema(
        "aten::cudnn_convolution",
        "",
        (Parameter("self", T), Parameter("weight", T), Parameter("padding", "List[int]")),
    ),
)


def test_inputs_that_a_trace_names_without_a_value_are_the_default() -> None:
    call = made(COPY_, "f32[4] f32[4] ?")
    assert (call.arguments[2], call.notes) == (False, ("non_blocking was not recorded: taken as False",))
    with pytest.raises(NotRebuilt, match="its dim was not recorded"):
        made((Schema("aten::cumsum", "", (Parameter("self", T), Parameter("dim", "int"))),), "f32[4] ?")
    with pytest.raises(NotRebuilt, match="its src was not recorded"):  # a tensor of an unknown kind
        made(COPY_, "f32[4] ?")
    cat = (Schema("aten::cat", "", (Parameter("tensors", "List[Tensor]"), Parameter("dim", "int"))),)
    with pytest.raises(NotRebuilt, match="the types of its tensors were not recorded"):
        made(cat, "(?,?) -1")


def test_kernels_for_gpus_alone_say_so() -> None:
    with pytest.raises(NotRebuilt, match="for GPUs only"):
        made(CONVOLUTION, "f32[1,3,8,8] f32[4,3,3,3] (1,1)")
    inputs = "f32[1,3,8,8]@cuda:0 f32[4,3,3,3]@cuda:0 (1,1)"
    assert made(CONVOLUTION, inputs).arguments[2] == (1, 1)


def test_written_operands_are_marked() -> None:
    assert [tensor.written for tensor in made(MUL_, "f32[8] f32[8]").tensors()] == [True, False]
    assert made(DIV, "f32[2] f32[2] f32[2]").keywords["out"] == TensorRecipe(
        "float32", (2,), None, "cpu", "uniform", {}, written=True
    )


def test_values_follow_the_digest() -> None:
    seen = '[null,{"lowest":3,"highest":40,"distinct":0.1}]'
    indices = list(made(EMBEDDING, "f32[1000,8] i64[512]", values=seen).tensors())[1]
    assert indices.settings == {"low": 3, "below": 41, "distinct": 0}
    few = '[null,{"lowest":3,"highest":900,"distinct":0.1}]'
    assert list(made(EMBEDDING, "f32[1000,8] i64[512]", values=few).tensors())[1].settings["distinct"] == 26
    outside = (
        '[null,{"lowest":-100,"highest":123456789,"distinct":0.5}]'  # of another recording: stays inside
    )
    indices = list(made(EMBEDDING, "f32[1000,8] i64[512]", values=outside).tensors())[1]
    assert (indices.settings["low"], indices.settings["below"]) == (0, 1000)
    digest = '[{"zeros":0.75,"negatives":0.0,"denormals":0.0,"nonfinite":0.0},{"zeros":1,"negatives":0}]'
    first, second = made(FOREACH_SQRT, "(f32[8],f32[8])", values=digest).tensors()
    assert (first.settings, second.settings) == ({"zeros": 0.75}, {})


def test_a_list_longer_than_the_sample() -> None:
    text = f"({','.join(['f32[8]'] * 70)})"
    half = '{"zeros":0.5,"negatives":0,"denormals":0,"nonfinite":0}'
    tensors = list(made(FOREACH_SQRT, text, values=f"[{','.join([half] * 64)}]").tensors())
    assert [bool(tensor.settings) for tensor in tensors] == [True] * 64 + [False] * 6


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("f32[2,3]:sparse_coo f32[2,3]", "a sparse_coo tensor"),
        ("f32[nested] f32[2,3]", "unrecorded sizes"),
        ("f32[2]:subclass f32[2]", "a tensor subclass"),
        ("qint8[2] f32[2]", "a qint8 tensor"),
        ("f32[2]@meta f32[2]", "a tensor on meta"),
        ("f32[9223372036854775807,9223372036854775807] f32[1]", "GiB"),
        ("f32[9223372036854775807]{0} f32[1]", "GiB"),
        ("f32[2,2]{1} f32[2]", "do not fit"),
        ("f32[2] (f32[2]", "cannot be read"),
        ("f32[2] f32[2] f32[2] f32[2]", "no overload"),
        ("f32[2] f32[2] f32[4]{0}", "overlap"),
        ("f32[2] f32[2] f32[3,3]{1,1}", "overlap"),
        ("f32[2] other=ComplexDouble", "not recorded"),
        ("", "no overload"),
    ],
)
def test_a_call_that_cannot_be_rebuilt_has_a_reason(signature: str, reason: str) -> None:
    with pytest.raises(NotRebuilt, match=reason):
        made(DIV, signature)


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        ("perfprobe_demo::window_mean", "a library that is not loaded"),
        ("c10d::allreduce_", "a library that is not loaded"),
        ("prims::add", "a library that is not loaded"),
        ("AddmmBackward0", "not the name"),
        ("aten::__class__.__name__.x", "not the name"),
        ("aten::", "not the name"),
    ],
)
def test_only_torch_operators_are_rebuilt(operator: str, reason: str) -> None:
    with pytest.raises(NotRebuilt, match=reason):
        split(operator)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "from_file",
            "_print",
            "_assert_async",
            "_functional_assert_async",
            "record_stream",
            "set_",
            "resize_",
        ),
        *(
            "resize_as_",
            "_resize_output_",
            "requires_grad_",
            "_nested_from_padded",
            "to_sparse",
            "_sparse_mm",
        ),
        *("quantize_per_tensor", "_cufft_clear_plan_cache"),
    ],
)
def test_calls_that_contain_code_are_refused(name: str) -> None:
    schema = Schema(f"aten::{name}", "", (Parameter("self", T),))
    with pytest.raises(NotRebuilt):
        made((schema,), "f32[2]")
    with pytest.raises(NotRebuilt, match="changes the sizes"):
        made((Schema("aten::t_", "", (Parameter("self", T),), reshapes=True),), "f32[2]")


def test_hostile_texts_raise_no_other_error() -> None:
    chosen = random.Random(0)
    texts = [
        "f32[2,3] f32[2,3]",
        "f32[4,8]{1,4}@cuda:0 dim=(1,2) keepdim=True",
        "(f32[2],-,i64[3]) p=0.5",
        '"x\\"" -',
    ]
    words = ["f32", "i64", "...", "nested", "inf", "float", "9" * 30, "self="]
    pieces = [*'[](){},=:@"\\- .0123456789', *words]
    every = [DIV, SUM, LAYER_NORM_BACKWARD, BERNOULLI_, EMBEDDING, FOREACH_SQRT]
    for _ in range(5_000):
        text = list(chosen.choice(texts))
        for _ in range(chosen.randrange(6)):
            text[chosen.randrange(len(text))] = chosen.choice(pieces)
        values = chosen.choice(
            ["", "[", "[1,2]", '[{"zeros":1e400},{"lowest":"x"}]', "[" * 2000, '[{"lowest":1}]']
        )
        schemas = chosen.choice(every)
        wanted = Wanted(schemas[0].operator, "".join(text), chosen.choice(["", "".join(text)]), values)
        with suppress(NotRebuilt):
            recipe(wanted, schemas, limit_bytes=1 << 20).plain()
