"""Checks what recording GPUs and named ranges needs: driver, CUPTI, NVTX, ITT, our own kernels."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from perfprobe import native
from perfprobe.doctor.part import LACK, NOTE, OK, Part
from perfprobe.support import install
from perfprobe.support.errors import EnvironmentLack
from perfprobe.support.masking.text import masked_text

# The variable that names a listener for each interface, and what sets ranges through it.
_LISTENERS = {
    "nvtx": ("NVTX_INJECTION64_PATH", "torch.cuda.nvtx, the nvtx package and C++"),
    "itt": ("INTEL_LIBITTNOTIFY64", "torch, oneDNN, the ittapi package and C++"),
}


def gpu(said: Mapping[str, Any]) -> Part:
    """Checks NVIDIA's driver and devices."""
    if "missing" in said:
        return Part("gpu", OK, "no NVIDIA driver here, and none is needed")
    if "devices" in said:
        counted = Counter(said["devices"])
        names = ", ".join(f"{number} {name}" for name, number in counted.items()) or "no device"
        return Part("gpu", OK, f"{names}; the driver supports CUDA {said['cuda']}")
    status = f"error {said['status']} of cuInit" if "status" in said else said.get("ended", "no message")
    why = "GPUs can neither be used nor recorded"
    return Part("gpu", NOTE, f"the driver does not work ({status})", why, "see what `nvidia-smi` says")


def cupti(said: Mapping[str, Any], driver: Mapping[str, Any]) -> Part:
    """Checks the library that reports kernels and copies, as a trial in a child process found it."""
    if "missing" in driver:
        return Part("cupti", OK, "not needed: no NVIDIA driver here")
    if "devices" not in driver:
        return Part("cupti", NOTE, "not tried", "the driver does not work", "fix the driver")
    if said.get("cuda") is None:
        why = "this torch does not use GPUs"
        return Part("cupti", OK, "not needed: torch is built for CPU, or is missing", why)
    reason = said.get("cupti", said.get("ended") or "the trial printed nothing")
    if reason:
        return Part("cupti", LACK, "GPUs cannot be recorded", reason, said.get("cupti_remedy", ""))
    found = f"{cupti_release(said['cupti_version'])}, {said['library']}, found {said['library_found']}"
    faults = [known for known in native.core().cupti_faults() if known["name"] in said["faults"]]
    if not faults:
        return Part("cupti", OK, found, "no fault of this version is known")
    texts = "; ".join(f"{fault['what']} ({fault['answer']})" for fault in faults)
    remedies = "; ".join(dict.fromkeys(fault["remedy"] for fault in faults))
    return Part("cupti", NOTE, found, f"known faults of this version: {texts}", remedies)


# What cuptiGetVersion returned before CUDA 13; see cupti_version.h.
_OLD_RELEASES = {
    **{18: "11.8", 19: "12.0 or 12.1", 20: "12.2", 21: "12.3", 22: "12.4", 23: "12.5", 24: "12.6"},
    **{26: "12.8", 27: "12.9", 28: "12.9 Update 1"},
}


def cupti_release(version: int) -> str:
    """Returns the release of CUPTI with its interface number, such as 130001, which is 13.0 Update 1."""
    if version >= 130_000:
        major, minor, update = version // 10_000, version // 100 % 100, version % 100
        release = f"{major}.{minor}" + (f" Update {update}" if update else "")
    else:
        release = _OLD_RELEASES.get(version, "")
    return f"CUPTI {release} (version {version})" if release else f"CUPTI, version {version}"


def ranges(interface: str) -> Part:
    """Checks whether named ranges are recorded through this interface, "nvtx" or "itt"."""
    variable, setters = _LISTENERS[interface]
    try:
        path = native.injection()
    except EnvironmentLack:
        return Part(interface, LACK, "not tried", "the recorder is missing", "fix the recorder")
    given = os.environ.get(variable)
    if given not in (None, path):
        why = f"{variable} names it: ranges of {setters} go there, not into the recording"
        return Part(
            interface,
            NOTE,
            f"another tool listens: {masked_text(given)}",
            why,
            f"unset it with `unset {variable}`",
        )
    if not os.path.isfile(path):
        why = f"{path} is missing"
        return Part(interface, LACK, "ranges cannot be recorded", why, install.rebuild())
    reason = native.why_not_built(interface)
    if reason is not None:
        why = f"--emit {interface}, and perfprobe.range in other tools, are left out: {reason}"
        return Part(interface, NOTE, f"ranges of {setters} are recorded", why, install.rebuild())
    return Part(interface, OK, f"ranges of {setters} are recorded")


def cuda_kernels() -> Part:
    """Checks our own kernels, which measure a GPU's ceilings and test recordings."""
    try:
        native.cuda_kernels()
    except EnvironmentLack as missing:
        return Part("cuda kernels", NOTE, missing.where, "only `make gpu-check` needs them", missing.remedy)
    return Part("cuda kernels", OK, "built, the library loads")
