"""What the name of a kernel says: its kind of work, and which others are variants of it."""

from __future__ import annotations

from functools import lru_cache

from perfprobe.models.communication import communicates
from perfprobe.models.kernel_families import family
from perfprobe.models.mangled import plain_name
from perfprobe.support.pattern import pattern

# Parts of names, and what such a kernel does; the first that matches counts. As the libraries name them.
_KINDS = (
    ("attention", r"attention|attn|flash_(?:fwd|bwd)|fmha|mla_|paged_"),
    (
        "convolution",
        r"conv\d?d?(?:_|olve|olution)|fprop|dgrad|wgrad|winograd|implicit_?gemm|scudnn|im2col|col2im",
    ),
    ("matrix products", r"gemm|gemv|matmul|^Cijk_|nvjet|splitKreduce|_mm_kernel|bmm"),
    ("normalisation", r"(?:layer|batch|group|rms)_?norm|LayerNorm|[Rr]msnorm|bn_fw|bn_bw"),
    ("softmax", r"[sS]oftmax"),
    ("sorting", r"[sS]ort|topk|TopK|radix"),
    ("gather and scatter", r"gather|scatter|index|embedding|Embedding"),
    ("reductions", r"reduce|Reduce|cub::|scan|cumsum"),
    ("optimizer", r"multi_tensor_apply|adam|Adam|sgd|SGD"),
    ("change of layout", r"nchwToNhwc|nhwcToNchw|[tT]ranspose|scalePackedTensor"),
    ("elementwise", r"elementwise|pointwise|_poi_|copy_kernel|fill_kernel|CatArray"),
)
_PATTERNS = tuple((kind, pattern(words)) for kind, words in _KINDS)
# From the first such word on a name says which variant it is: `_matmul_ogs_NNT_bf16xbf16_16x128x256x1`.
_VARIANT = pattern(r"_(?:[NT]{2,3}|(?:bf|fp|mx)\d[^_]*|(?:f|i|u|s|int|uint)\d+[^_]*|\d[^_]*)(?=_|$)")
_NO_NAMESPACE = pattern(r"\((?:anonymous namespace|unnamed)\)::|<unnamed>::")


def kind_of_kernel(name: str) -> str | None:
    """What a kernel with this name does, None if the name does not tell."""
    text = plain_name(name)
    if communicates(text):
        return "communication"
    return next((kind for kind, words in _PATTERNS if words.search(text)), None)


@lru_cache(maxsize=4096)
def group_of_kernel(name: str) -> str:
    """A name for all variants of a kernel: of a library its kind of work, else the name without the variant.

    `matrix products of hipBLASLt`, `_matmul_ogs`.
    """
    text = plain_name(name)
    kind, made_by = kind_of_kernel(text), family(text)
    if kind is not None and made_by is not None:
        return f"{kind} of {made_by}"
    text = _NO_NAMESPACE.sub("", text.removeprefix("void "))
    base = text.partition("(")[0].partition("<")[0].strip() or name
    variant = _VARIANT.search(base, 1)
    return base[: variant.start()] if variant is not None else base
