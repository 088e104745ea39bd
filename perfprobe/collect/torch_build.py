"""Finds how the program's torch was built and which devices it used, in a few short facts."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PATTERNS = {
    "compiler": r"^ *- ((?:GCC|clang|MSVC|ICC)\S* [\d.]+)",
    "openmp": r"\(a\.k\.a\. (OpenMP [\d.]+)\)",
    "cuda_runtime": r"^ *- CUDA Runtime ([\d.]+)",
    "cudnn": r"^ *- CuDNN ([\d.]+)",
    "cpu_capability": r"CPU capability usage: (.+)",
    "blas": r"BLAS_INFO=(\w+)",
    "build_type": r"BUILD_TYPE=(\w+)",
}
_FACTS = {name: re.compile(pattern, re.MULTILINE) for name, pattern in _PATTERNS.items()}
_LONGEST = 40
_MOST_DEVICES = 16


def describe(torch: Any) -> dict[str, object]:
    """Returns facts from torch's `torch.__config__.show()`, and the GPUs.

    GPUs are only queried if the program has used one, because the query would load the driver.
    """
    cuda, config = getattr(torch, "cuda", None), getattr(torch, "__config__", None)
    if cuda is None or config is None:
        return {}  # the program has its own module of this name
    used = bool(cuda.is_initialized())
    if not used and (torch.version.cuda or getattr(torch.version, "hip", None)):
        return {}
    found = facts(config.show())
    if used:
        count = min(cuda.device_count(), _MOST_DEVICES)
        found["devices"] = [cuda.get_device_name(device) for device in range(count)]
    return found


def facts(shown: str) -> dict[str, object]:
    """Returns the facts in the text of `torch.__config__.show()`. Missing ones are omitted."""
    matches = {name: pattern.search(shown) for name, pattern in _FACTS.items()}
    return {name: match[1][:_LONGEST] for name, match in matches.items() if match is not None}
