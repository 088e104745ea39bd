"""What the name of a kernel says: the function's name where it is mangled, its kind of work, its group.

Names are untrusted: what does not look like a mangled name is taken as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache

from perfprobe.models.kernel_families import family

_LONGEST = 8_192  # characters that are read
_MOST_ARGUMENTS = 2
_SOURCE_NAME = re.compile(r"(\d{1,4})")
# Names of template arguments that say nothing: of types, and of constants.
_NO_ARGUMENT = re.compile(r"__\w*bfloat16|BFloat16|Half|__half2?|bool|int|float|\d+")

# Parts of names, and what such a kernel does; the first that matches counts. As the libraries name them.
_KINDS = (
    ("communication", r"nccl|nvshmem|cross_device_reduce|all_?(?:reduce|gather|to_?all)|reduce_?scatter"),
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
_PATTERNS = tuple((kind, re.compile(words)) for kind, words in _KINDS)
# From the first such word on a name says which variant it is: `_matmul_ogs_NNT_bf16xbf16_16x128x256x1`.
_VARIANT = re.compile(r"_(?:[NT]{2,3}|(?:bf|fp|mx)\d[^_]*|(?:f|i|u|s|int|uint)\d+[^_]*|\d[^_]*)(?=_|$)")
_NO_NAMESPACE = re.compile(r"\((?:anonymous namespace|unnamed)\)::|<unnamed>::")


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """The name without mangling of C++: `ck_tile::kentry<Rmsnorm2dFwd>` for `_ZN7ck_tile6kentryILi1ENS_...`.

    Only nested names of the Itanium C++ ABI are read (5.1.6, `<nested-name>`), and of template arguments the
    first names that say what the kernel is for.
    """
    text = name[:_LONGEST]
    if not text.startswith("_ZN"):
        return name
    at, parts = 3, list[str]()
    while at < len(text) and text[at].isdigit():
        part, at = _source_name(text, at)
        parts.append(part)
    if not parts or not all(parts):
        return name
    arguments = _arguments(text, at) if text[at : at + 1] == "I" else []
    return "::".join(parts) + (f"<{', '.join(arguments)}>" if arguments else "")


def _source_name(text: str, at: int) -> tuple[str, int]:
    """The name that begins here with its length, and where it ends; "" if it is cut off."""
    length = _SOURCE_NAME.match(text, at)
    if length is None:
        return "", len(text)
    end = length.end() + int(length[1])
    return (text[length.end() : end], end) if end <= len(text) else ("", len(text))


def _arguments(text: str, at: int) -> list[str]:
    """The first names in template arguments that are not of plain types."""
    found: list[str] = []
    while at < len(text) and len(found) < _MOST_ARGUMENTS:
        if text[at] == "L":  # a constant: its value is no name
            at = text.find("E", at) + 1 or len(text)
        elif text[at].isdigit():
            part, at = _source_name(text, at)
            found += [part] if part and _NO_ARGUMENT.fullmatch(part) is None else []
        else:
            at += 1
    return found


def kind_of_kernel(name: str) -> str | None:
    """What a kernel with this name does, None if the name does not tell."""
    text = plain_name(name)
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
