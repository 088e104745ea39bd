"""Names of kernels: mangled ones against c++filt, and groups of those in published traces."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from perfprobe.models.kernel_families import family
from perfprobe.models.kernel_names import group_of_kernel, kind_of_kernel
from perfprobe.models.mangled import plain_name

MANGLED = (
    "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
    "_ZN2at6native12_GLOBAL__N_120softmax_warp_forwardIfffLi10ELb0ELb0EEEvPT0_PKT_iiiPKbib",
    "_ZN4vllm23rotary_embedding_kernelIfLb1EEEvPKlPT_S4_PKS3_illiii",
)
# As in published traces of vLLM, SGLang, TraceLens, HTA and Kineto.
GROUPS = {
    "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu": "_matmul_ogs",
    "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1": "_matmul_ogs",
    "kernel_unified_attention_3d": "kernel_unified_attention",
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1_SN": "matrix products of hipBLASLt",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1": "matrix products of cuBLAS",
    "volta_sgemm_128x32_nt": "matrix products of cuBLAS",
    "volta_scudnn_128x64_relu_interior_nn_v1": "convolution of cuDNN",
    "void cudnn::cnn::wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, 512>(int)": "convolution of cuDNN",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)": "communication of NCCL",
    "void (anonymous namespace)::store_kvcache<2048l, 4, long>((anonymous namespace)::P)": "store_kvcache",
    "void paged_attention_mfma16_kernel<0, ck_tile::Compos>(int)": "paged_attention_mfma16_kernel",
    "void at::native::elementwise_kernel<4, at::native::AddFunctor<float> >(int)": "elementwise of torch",
    "triton_poi_fused_add_3": "elementwise of inductor",
    MANGLED[0]: "normalisation of AITER",
    "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2": "normalisation of composable kernel",
}


@pytest.mark.parametrize(("name", "group"), GROUPS.items())
def test_variants_of_a_kernel_are_one_group(name: str, group: str) -> None:
    assert group_of_kernel(name) == group


@pytest.mark.parametrize("name", MANGLED)
def test_the_function_of_a_mangled_name_is_that_of_binutils(name: str) -> None:
    tool = shutil.which("c++filt")
    if tool is None:
        pytest.skip("binutils has c++filt")
    told = subprocess.run([tool, name], capture_output=True, text=True, check=True).stdout.strip()
    function = told.removeprefix("void ").replace("(anonymous namespace)", "_GLOBAL__N_1").partition("<")[0]
    assert plain_name(name).partition("<")[0] == function


@pytest.mark.parametrize(
    "name",
    [
        "",
        "_ZN",
        "_ZN9",
        "_ZN99999abc",
        "_ZN3abcI",
        "_ZN3abcI9",
        "_ZN3abcIL",
        "_Z3abcv",
        "_ZN0",
        "_ZN3a",
        "a" * 10_000,
    ],
)
def test_what_is_no_nested_name_stays_as_it_is(name: str) -> None:
    assert plain_name(name) in (name, "abc")
    assert group_of_kernel(name) in (name, "abc")
    assert kind_of_kernel(name) is None


def test_a_library_in_template_arguments_made_no_kernel() -> None:
    assert family("void paged_attention<0, ck_tile::ComposedLayout>(int)") is None
    assert family("void ck::kernel_gemm_xdl<float>(int)") == "composable kernel"


def test_the_library_of_a_mangled_name() -> None:
    assert family("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2") == "composable kernel"
    assert family("_ZN2at6native12_GLOBAL__N_120softmax_warp_forwardIfffLi10ELb0ELb0EEEv") == "torch"
