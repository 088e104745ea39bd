"""What names say of matrix work: names in published traces, and what they must not be taken for."""

from __future__ import annotations

import pytest

from perfprobe.models.images import has_float_images
from perfprobe.models.matrix_work import PLUGIN, is_unaligned, may_use_tensor_cores, uses_tf32

TF32 = (
    "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_execute",
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>(cutlass_80::Params)",
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32",
)
NOT_TF32 = (
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_f16_128x128_nn_align8>",
    "ampere_sgemm_128x64_nn",
    "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn",
    "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn",
)


@pytest.mark.parametrize("name", TF32)
def test_kernels_of_tf32(name: str) -> None:
    assert uses_tf32(name)


@pytest.mark.parametrize("name", NOT_TF32)
def test_other_kernels(name: str) -> None:
    assert not uses_tf32(name)


def test_kernels_that_load_single_elements() -> None:
    assert is_unaligned("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_tn_align1>")
    assert not is_unaligned(
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_tn_align16>"
    )
    assert not is_unaligned("void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>")


def test_operators_that_may_use_tensor_cores() -> None:
    assert len(PLUGIN) == 45
    for name in ("aten::addmm", "aten::convolution_backward", "aten::miopen_convolution", "aten::_scaled_mm"):
        assert may_use_tensor_cores(name)
    for name in ("aten::_scaled_dot_product_flash_attention", "aten::_flash_attention_backward"):
        assert may_use_tensor_cores(name)
    for name in ("aten::add", "aten::native_batch_norm", "aten::mm_like", ""):
        assert not may_use_tensor_cores(name)


@pytest.mark.parametrize(
    ("inputs", "is_one"),
    [
        ("f32[32,3,224,224] f32[32,3,224,224]@cuda:0", True),
        ("f32[32,224,224,3]", True),
        ("f16[8,16,1,28,28]", True),
        ("u8[32,3,224,224]", False),
        ("f32[32,64,56,56]", False),
        ("f32[32,3,3,3]", False),
        ("f32[128,3]", False),
        ("", False),
        ("f32[symbolic]", False),
    ],
)
def test_images_of_floats(inputs: str, is_one: bool) -> None:
    assert has_float_images(inputs) == is_one
