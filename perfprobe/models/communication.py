"""Kernels that communicate with other GPUs, by their names: one table for all reports."""

from __future__ import annotations

from functools import lru_cache
from re import DOTALL, IGNORECASE

from perfprobe.models.fused import is_generated
from perfprobe.models.mangled import plain_name
from perfprobe.support.pattern import pattern

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
    # ROCm/mori include/mori/ops and src/ops/dispatch_combine
    ("MORI", r"\bmori::|\bEp(?:Dispatch|Combine)(?:Intra|Inter)Node"),
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
_PATTERNS = tuple((library, pattern(words)) for library, words in _LIBRARIES)
UNKNOWN = "an unknown library"
# What else a function is called that communicates; between threads of one GPU it is none.
_COLLECTIVE = pattern(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|(?<![a-z])(?:ep|a2a)_?(?:dispatch|combine)"
    r"|(?<![a-z])p2p_?(?:send|recv|put|get)|broadcast_from_rank",
    IGNORECASE,
)
_ON_ONE_GPU = pattern(
    r"(?:warp|block|thread|quad|cluster|sub_?group|row)_?(?:all_?reduce|all_?gather)", IGNORECASE
)
_ARGUMENTS = pattern(r"[<(].*", DOTALL)


@lru_cache(maxsize=8192)
def communication_library(kernel: str) -> str | None:
    """The library by which a kernel with this name communicates, `UNKNOWN` if it only says that it does.

    None if it does not.
    """
    text = plain_name(kernel)
    found = next((name for name, words in _PATTERNS if words.search(text)), None)
    if found is not None:
        return found
    function = _ON_ONE_GPU.sub("", _ARGUMENTS.sub("", text.replace("(anonymous namespace)", "")))
    says_so = not is_generated(kernel) and _COLLECTIVE.search(function) is not None
    return UNKNOWN if says_so else None


def communicates(kernel: str) -> bool:
    """Whether a kernel with this name communicates with other GPUs."""
    return communication_library(kernel) is not None
