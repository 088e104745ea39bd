"""Calls that are not rebuilt although their operands could be made.

A recording is untrusted, and some calls do more than compute.
"""

from __future__ import annotations

import re

from perfprobe.bench.rebuild.extents import overlaps, seen_bytes, storage_bytes
from perfprobe.bench.rebuild.recipe import CallRecipe, MachineLacks, NotRebuilt, TensorRecipe
from perfprobe.bench.rebuild.schema import Schema
from perfprobe.support import units

_MANY = (
    "unbind",
    "chunk",
    "split",
    "split_with_sizes",
    "tensor_split",
    "hsplit",
    "vsplit",
    "dsplit",
    "meshgrid",
)
_MOST_TENSORS = 1 << 16

LIMIT_BYTES = 16 << 30  # of one set of operands

_REASONS = (
    (r"from_file", "reads files"),
    (r"_print|_test_.*|_foobar", "prints or is for torch's own tests"),
    (r"_?(functional_)?_?assert_.*|_linalg_check_errors|_?sym_constrain_.*", "only checks values"),
    (r"record_stream|set_?|set_data|_?resize_.*|resize|.*sparse_resize.*", "changes what a tensor is"),
    (r"requires_grad_|retain_grad|_backward|_version|data|lift.*|_make_dual.*|_fw_primal.*|_unpack_dual",
     "belongs to autograd, not to data"),
    (r"_cufft_.*|_cslt_.*|_make_dep_token|_propagate_xla_data|_lazy_clone|_add_batch_dim|_remove_batch_dim",
     "changes the state of a library"),
    (r".*nested.*|.*_jagged.*", "takes nested tensors"),
    (r".*sparse.*|_?to_dense.*|_?(in)?dices|_?values|c(row|col)_indices|(row|col)_indices|_?coalesced?_?|_spdiags",
     "takes sparse tensors"),
    (r"q_.*|int_repr|.*quantize_per.*|quantized_.*|fbgemm_.*|.*_affine_quantized|_make_per_.*_tensor|dequantize",
     "takes quantized tensors"),
    (r"_cummax_helper|_cummin_helper", "does not check that its operands fit each other"),
    (r".*mkldnn_reorder.*|to_mkldnn.*|_mkldnn_(reshape|transpose_?)|mkldnn_(linear|max_pool|adaptive).*",
     "takes oneDNN's own tensors"),
)  # fmt: skip


def check_operator(schema: Schema) -> None:
    """Raises NotRebuilt if the operator must not be called."""
    name = schema.operator.partition("::")[2]
    for pattern, reason in _REASONS:
        if re.fullmatch(pattern, name):
            raise NotRebuilt(f"it {reason}")
    if schema.reshapes:
        raise NotRebuilt("it changes the sizes or strides of its operand")


def check_operands(recipe: CallRecipe, limit_bytes: int = LIMIT_BYTES) -> None:
    """Raises NotRebuilt if the operands are too large or may not be written."""
    _check_count(recipe)
    total_bytes = 0
    for tensor in recipe.tensors():
        check_written(tensor)
        total_bytes += max(storage_bytes(tensor) * (2 if tensor.written else 1), seen_bytes(tensor))
        if total_bytes > limit_bytes:
            limit_gib = units.significant(limit_bytes / (1 << 30), 3)
            raise MachineLacks(f"its operands take more than {limit_gib} GiB")


def _check_count(recipe: CallRecipe) -> None:
    """Raises NotRebuilt for a view of each element: one view costs nothing, but millions do."""
    name = recipe.operator.partition("::")[2].removeprefix("unsafe_").removesuffix("_copy")
    extents = [size for tensor in recipe.tensors() for size in tensor.sizes]
    if name in _MANY and max(extents, default=0) > _MOST_TENSORS:
        raise NotRebuilt(f"it may make more than {_MOST_TENSORS} tensors")


def check_written(tensor: TensorRecipe) -> None:
    """Raises NotRebuilt for a tensor that the call writes and whose elements overlap: torch rejects it."""
    if tensor.written and overlaps(tensor.sizes, tensor.strides):
        raise NotRebuilt("it writes a tensor with overlapping elements")
