"""Finds from the name of a kernel the library or compiler that it comes from."""

from __future__ import annotations

from perfprobe.models.communication import communication_library
from perfprobe.models.fused import is_generated
from perfprobe.models.mangled import plain_name
from perfprobe.support.pattern import pattern

# Patterns of kernel names; the first that matches counts. For inductor's kernels see models/fused.py.
_NAMES = (
    ("FlashAttention", r"flash_(?:fwd|bwd)|\bflash::|pytorch_flash::|fmha_(?:fwd|bwd)"),
    ("AITER", r"^(?:void )?aiter::"),
    ("cuDNN", r"cudnn|^void (?:implicit|explicit)_convolve|xmma_(?:fprop|dgrad|wgrad)|winograd|scudnn"),
    (
        "cuBLAS",
        r"cublas|^nvjet_|^(?:volta|turing|ampere|maxwell|pascal)_\w*gemm|gemv|gemmk1|splitKreduce|dot_kernel",
    ),
    ("cuBLAS", r"^sm\d+_xmma_gemm"),
    ("hipBLASLt", r"^Cijk_"),
    ("MIOpen", r"miopen|MIOpen"),
    ("composable kernel", r"^[^<(]*\bck(?:_tile)?::"),
    ("CUTLASS", r"cutlass|PyTorchMemEffAttention"),
    ("torch", r"\bat(?:_cuda_detail)?::|at::native|c10::|torch::|fbgemm"),
    ("CUB, Thrust", r"\bcub::|thrust::|rocprim::|hipcub::"),
)
_FAMILIES = tuple((family, pattern(words)) for family, words in _NAMES)


def family(kernel: str) -> str | None:
    """Returns the family of a kernel, None if its name does not tell: the program's own, Triton's."""
    if is_generated(kernel):
        return "inductor"
    text = plain_name(kernel)
    library = communication_library(text)
    return library or next((name for name, words in _FAMILIES if words.search(text)), None)
