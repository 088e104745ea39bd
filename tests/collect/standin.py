"""Builds the stand-in for libcupti, and what programs need to use it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent.parent / "native" / "standin"

_HEAD = """
import ctypes, os, sys, threading, time
import torch
gpu = ctypes.CDLL(os.environ["STANDIN"])
for name, kinds in {"launch": "su4", "launch_by_driver": "su4", "launch_graph": "s4u4", "copy": "4444uu4",
                    "fill": "uu4", "synchronize": "4"}.items():
    types = {"s": ctypes.c_char_p, "u": ctypes.c_uint64, "4": ctypes.c_uint32}
    getattr(gpu, "standin_" + name).argtypes = [types[kind] for kind in kinds]

def wait():
    gpu.standin_synchronize(7)
"""

# Operators that call the stand-in, as CUDA's operators call the runtime.
OPERATORS = f"""{_HEAD}
from torch import library

# Not by custom_op: its first call imports torch._dynamo, which takes as long as torch itself. Not of tensors
# only: torch 2.15 calls such an operator past its dispatcher, and nothing records it.
operators = library.Library("standin", "DEF")
operators.define("work(Tensor x, str kernel, int ns) -> Tensor")
operators.define("send(Tensor x, int kind=1) -> Tensor")

@library.impl(operators, "work", "CompositeExplicitAutograd")
def launch(x, kernel, ns):
    gpu.standin_launch(kernel.encode(), ns, 7)
    return x.clone()

@library.impl(operators, "send", "CompositeExplicitAutograd")
def copy(x, kind=1):
    gpu.standin_copy(kind, 1, 3, 0, x.numel() * x.element_size(), 2_000_000, 7)
    return x.clone()

work, send = torch.ops.standin.work, torch.ops.standin.send
"""

# The same calls of the stand-in by no operator. For programs with `STUB` as torch.
LAUNCHES = f"""{_HEAD}
def work(x, kernel, ns):
    gpu.standin_launch(kernel.encode(), ns, 7)
    return x
def send(x):
    gpu.standin_copy(1, 1, 3, 0, 4 * x, 2_000_000, 7)
    return x
"""
# What perfprobe reads of torch where only the GPU is recorded. It takes no time to import. `ones(n)` is n.
STUB = """
__version__ = "1.0"
class version: cuda = None
class autograd: profiler = ProfilerActivity = None
def get_num_threads(): return 1
def get_num_interop_threads(): return 1
def ones(size): return size
"""


def build(folder: Path) -> Path:
    """Builds the stand-in as `libcupti.so.13` in this folder. Skips the test without a compiler."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler here: the stand-in for libcupti cannot be built")
    library = folder / "libcupti.so.13"
    flags = ["-std=c++20", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread"]
    link = ["-Wl,-soname,libcupti.so.13", f"-Wl,--version-script={SOURCES / 'libcupti.map'}"]
    sources = [str(source) for source in sorted(SOURCES.glob("*.cpp"))]
    subprocess.run([compiler, *flags, *link, "-o", str(library), *sources], check=True)
    return library


def environment(library: Path, nvml: str | None = None, **settings: str) -> dict[str, str]:
    """Variables that make perfprobe and the program use it.

    nvml: another library than this one for NVML. settings: STANDIN_... variables in lower case.
    """
    named = {f"STANDIN_{name.upper()}": value for name, value in settings.items()}
    own = {"PERFPROBE_CUPTI": str(library), "PERFPROBE_ASSUME_DRIVER": "1", "STANDIN": str(library)}
    return {**own, "PERFPROBE_NVML": nvml or str(library), **named}
