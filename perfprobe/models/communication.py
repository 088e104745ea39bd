"""Kernels that communicate with other GPUs, by their names: one table for all reports."""

from __future__ import annotations

import re
from functools import lru_cache

from perfprobe.models.mangled import plain_name

# The library, parts of names of its kernels, and where these names are. The first that matches counts.
_LIBRARIES = (
    # NVIDIA/nccl src/device/generate.py: ncclDevKernel_AllReduce_Sum_f32_RING_LL; RCCL has the same names
    ("NCCL", r"^(?:void )?nccl"),
    # ROCm/rccl src/device/msccl_kernel_impl.h
    ("RCCL", r"^(?:void )?(?:rccl|msccl)"),
    ("NVSHMEM", r"nvshmem"),
    # deepseek-ai/DeepEP csrc/kernels: intranode, internode and internode_ll, with or without its namespace
    (
        "DeepEP",
        r"\b(?:intranode|internode(?:_ll)?)::(?:cached_)?(?:notify_)?(?:dispatch|combine)|\bdeep_ep::",
    ),
    # vllm-project/vllm csrc/custom_all_reduce.cuh and quickreduce; SGLang's and AITER's copies
    ("vLLM, SGLang", r"cross_device_reduce_[12]stage|allreduce_prototype_twoshot|quick_?reduce"),
    # flashinfer include/flashinfer/comm: trtllm_allreduce_fusion and moe; AITER has one of that name too
    ("FlashInfer", r"flashinfer::\w*::?\w*all_?(?:reduce|to_?all)|(?:moe\w*_)?allreduce_fusion_kernel"),
    # NVIDIA/TensorRT-LLM cpp/tensorrt_llm/kernels/customAllReduceKernels.cu
    ("TensorRT-LLM", r"(?:one|two)ShotAllReduce|lamport_style_(?:one|two)_shot"),
    # pytorch torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu
    (
        "symmetric memory",
        r"multimem_\w*(?:all_?(?:reduce|gather)|reduce)\w*kernel|(?:one|two)_shot_all_reduce\w*kernel"
        r"|\bstream_write_value32|symm_mem::",
    ),
)
_PATTERNS = tuple((library, re.compile(words)) for library, words in _LIBRARIES)


@lru_cache(maxsize=8192)
def communication_library(kernel: str) -> str | None:
    """The library by which a kernel with this name communicates; None if it does not, or is not known."""
    text = plain_name(kernel)
    return next((name for name, words in _PATTERNS if words.search(text)), None)


def communicates(kernel: str) -> bool:
    """Whether a kernel with this name communicates with other GPUs."""
    return communication_library(kernel) is not None
