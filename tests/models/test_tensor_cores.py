"""Recognizes kernels with tensor cores by NVIDIA's names, from Volta to Blackwell, and those without."""

from __future__ import annotations

import pytest

from perfprobe.models.tensor_cores import in_plugin_list, uses_tensor_cores

# Names in traces of each generation, and whether the plugin's list has them.
WITH = {
    "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn": True,
    "volta_h884gemm_64x64_ldg8_nn": True,
    "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn": True,
    "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn": True,
    "ampere_d884gemm_32x32_tn": False,
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>": False,
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32_tensor16x8x8": False,
    "_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionIS1_13MmaTensorOpI": False,
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k": True,
    "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT": False,
    "nvjet_sm100_tst_mma_128x256x64_3_64x32x64_cta1x1x1": False,
    "void cutlass::device_kernel<cutlass3x_sm100_tensorop_s256x256x16gemm_bf16_bf16_f32_void>": False,
    "cutlass3x_sm90_tensorop_s64x128x16gemm_bf16": False,
    "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4, false>": False,
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x64x64_4x1x1": False,
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<bf16>": False,
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1": False,
}
WITHOUT = (
    "volta_sgemm_128x32_nt",
    "ampere_sgemm_32x32_sliced1x4_tn",
    "ampere_gcgemm_64x64_nt",
    "void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>",
    "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>",
    "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize128x64x8_stage3_ffma",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >",
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float>",
    "triton_poi_fused__unsafe_view_mul_silu_2",
    "void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 128> >",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 32, true, 1>",
)


@pytest.mark.parametrize("name", WITH)
def test_kernels_with_tensor_cores(name: str) -> None:
    assert uses_tensor_cores(name)
    assert in_plugin_list(name) == WITH[name]


@pytest.mark.parametrize("name", WITHOUT)
def test_kernels_without_them(name: str) -> None:
    assert not uses_tensor_cores(name)
