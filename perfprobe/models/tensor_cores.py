"""Recognises kernels that use tensor cores by their names, with the TensorBoard plugin's list and our own.

Without hardware counters only the name of a kernel is known. Triton's kernels are named by their author or by
what was fused, so neither list recognises them.
"""

from __future__ import annotations

from perfprobe.support.pattern import pattern

# torch_tb_profiler/profiler/tensor_core.py of 0.4.3: NVIDIA's list for PyProf, of 2020. Parts of names.
PLUGIN = (
    *("h884", "s884", "h1688", "s1688", "hmma", "i8816", "16816", "dgrad_1x1_stride_2x2"),
    *("first_layer_wgrad_kernel", "conv1x1", "conv2d_c1_k1", "direct_group", "xmma_implicit_gemm"),
    *("xmma_sparse_conv", "xmma_warp_specialized_implicit_gemm", "xmma_gemm", "xmma_sparse_gemm", "c1688"),
)
# Shapes of the instructions, after the type that they accumulate in: volta_fp16_s884gemm, ampere_d884gemm.
_SHAPES = r"[hsidczbg](?:884|1684|1688|16816|16832|16864|8816|8832|88128|168128|168256)(?![0-9])"
_KINDS = (
    _SHAPES,
    r"[hidbq]g?mma(?![a-z])|wgmma|utc\w?mma|tcgen05",  # names of the instructions, Volta to Blackwell
    r"[Tt]ensor_?[Oo]p|tensor[0-9]+x[0-9]+x[0-9]+",  # CUTLASS, and cuDNN's sm80_xmma_..._tensor16x8x16
    r"s64x\d+x\d+|MMA_\d+x\d+x\d+|SM(?:90|100|103|120)_(?:64x|MMA|16x8x)|GMMA",  # CUTLASS 3, from Hopper on
    r"nvjet_",  # cuBLAS on Hopper and Blackwell
    r"xmma_\w*?(?:tf32|bf16|f16|e4m3|e5m2|i8)",  # kernels of single precision do not use tensor cores
    r"flash_(?:fwd|bwd)|flash::|fmha_cutlass[FB]_\w*sm(?:80|90|100)|fmha_cutlass[FB]_f16",
    r"sdpa_sm\d+",  # cuDNN's attention
    r"(?:e4m3|e5m2)\w*gemm|gemm\w*(?:e4m3|e5m2)",  # types of 8 bits only exist on tensor cores
    r"Cijk_\w*_MI\d+x\d+",  # AMD's matrix cores, from hipBLASLt and rocBLAS
)
_OURS = pattern("|".join(f"(?:{kind})" for kind in _KINDS))
# Kernels of attention without tensor cores: the parts of a backward that only add up.
_NOT = pattern(r"flash_bwd_(?:dot_do_o|convert_dq|convert_dkv)|flash_fwd_splitkv_combine")


def in_plugin_list(kernel: str) -> bool:
    """Whether the plugin counts a kernel with this name as one that uses tensor cores."""
    return any(part in kernel for part in PLUGIN)


def uses_tensor_cores(kernel: str) -> bool:
    """Whether a kernel with this name uses tensor cores (Volta to Blackwell) or AMD's matrix cores."""
    return _OURS.search(kernel) is not None and _NOT.search(kernel) is None
