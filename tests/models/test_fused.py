"""What the names of kernels of torch.compile say, and the names of operators that traces are read with."""

from __future__ import annotations

import pytest
import torch

from perfprobe.collect.generated import known_operators
from perfprobe.models.fused import is_generated, operators
from perfprobe.models.kernel_families import family
from perfprobe.models.operator_names import NAMES


@pytest.fixture(scope="module")
def known() -> set[str]:
    return known_operators(torch)


@pytest.mark.parametrize(
    "names",
    [
        ["add"],
        ["add", "mul", "relu"],
        ["_to_copy", "add"],
        ["gelu", "gelu_backward", "sum"],
        ["native_layer_norm", "native_layer_norm_backward"],
        ["log", "sigmoid"],
        ["_log_softmax", "nll_loss_forward"],
        ["_unsafe_index", "clone", "index_put", "var_mean"],
    ],
)
def test_a_name_is_read_as_the_operators_it_was_joined_of(names: list[str], known: set[str]) -> None:
    assert operators(f"cpp_fused_{'_'.join(names)}_12", known) == names


def test_so_are_names_of_triton_kernels(known: set[str]) -> None:
    for kind in ("poi", "red", "per", "tem", "for"):
        assert operators(f"triton_{kind}_fused_addmm_gelu_3", known) == ["addmm", "gelu"]


@pytest.mark.parametrize("kernel", ["cpp_fused_nosuch_add_0", "cpp_CppMicroGemmFP32Vec_threaded_mm_0", "x"])
def test_a_name_that_reads_as_nothing_known(kernel: str, known: set[str]) -> None:
    assert operators(kernel, known) == []


def test_the_names_for_traces_are_those_of_a_torch(known: set[str]) -> None:
    """Those of another torch differ by a few: `sorted(known_operators(torch))` without `_test...` makes
    them.
    """
    untested = {name for name in known if not name.startswith("_test")}
    assert len(NAMES & untested) > 0.9 * len(untested)
    assert operators("triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1", NAMES) == [
        *("_unsafe_view", "add", "mean", "mul", "pow", "rsqrt")
    ]
    assert operators("graph_0_cpp_fused_add_gelu_2", NAMES) == ["add", "gelu"]


def test_a_name_without_end_is_not_read(known: set[str]) -> None:
    name = f"triton_poi_fused_{'add_' * 10_000}0"
    assert is_generated(name)
    assert operators(name, known) == []


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "NCCL"),
        ("triton_poi_fused_add_0", "inductor"),
        ("_matmul_kernel", None),
        ("ampere_sgemm_32x32_sliced1x4_tn", "cuBLAS"),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", "cuBLAS"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc", "cuDNN"),
        ("void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688fprop>(...)", "cuDNN"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>", "CUTLASS"),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128> >", "FlashAttention"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::Half> >", "torch"),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1", "hipBLASLt"),
    ],
)
def test_families_of_kernels(kernel: str, expected: str | None) -> None:
    assert family(kernel) == expected
