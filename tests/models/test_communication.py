"""Kernels that communicate, by names from published traces and from the libraries' sources."""

from __future__ import annotations

import pytest

from perfprobe.models.communication import UNKNOWN, communication_library
from perfprobe.models.kernel_names import group_of_kernel

NAMES = {
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "NCCL",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)": "NCCL",
    "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(__nv_bfloat16*)": "DeepEP",
    "void deep_ep::intranode::cached_notify_combine<8>(void**, int*)": "DeepEP",
    "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)": "DeepEP",
    "_ZN7deep_ep9intranode8dispatchILi8EEEvP4int4": "DeepEP",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)": "vLLM, SGLang",
    "void sglang::cross_device_reduce_2stage<__half, 8>(sglang::RankData*)": "vLLM, SGLang",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(int)": "FlashInfer",
    "void c10d::symmetric_memory::multimem_all_reduce_kernel<c10::BFloat16, 16>(int)": "symmetric memory",
    "void two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 8>(int)": "symmetric memory",
    "EpDispatchIntraNodeKernel_bf16": "MORI",
    "nvshmemi_barrier_threadgroup": "NVSHMEM",
    "void mine::allReduceInPlace<float>(float*)": UNKNOWN,
    "fused_moe_all_to_all_v2": UNKNOWN,
    "void (anonymous namespace)::ep_dispatch_kernel<int>(int)": UNKNOWN,
}
OTHERS = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(int)",
    "void dispatch_tokens<float>(int)",
    "_combined_routing_compute",
    "void cub::DeviceReduceKernel<int>(int)",
    "volta_sgemm_128x32_nt",
    "void block_all_reduce<float>(float*)",
    "void oneflow::LayerNormWarpAllReduce(float*)",
    "void norm_kernel<AllReduceOp>(float*)",
    "void step_combine<float>(float*)",
    "triton_poi_fused_all_gather_into_tensor_wait_tensor_2",
)


@pytest.mark.parametrize(("name", "library"), NAMES.items())
def test_kernels_that_communicate(name: str, library: str) -> None:
    assert communication_library(name) == library
    assert group_of_kernel(name) == f"communication of {library}"


@pytest.mark.parametrize("name", OTHERS)
def test_other_kernels(name: str) -> None:
    assert communication_library(name) is None
