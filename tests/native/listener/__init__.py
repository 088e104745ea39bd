"""Builds the listener: a tool for NVTX and ITT that writes down perfprobe's own ranges."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCE = Path(__file__).with_name("listener.cpp")
LOG = "PERFPROBE_LISTENER_LOG"
VARIABLES = {"nvtx": "NVTX_INJECTION64_PATH", "itt": "INTEL_LIBITTNOTIFY64"}


def build(kind: str, folder: Path) -> Path:
    """Compile it into the folder; RuntimeError says why it cannot be."""
    compiler = shutil.which(os.environ.get("CXX", "c++").split()[0])
    if compiler is None:
        raise RuntimeError("there is no C++ compiler")
    library = folder / f"lib{kind}_listener.so"
    words = [compiler, "-shared", "-fPIC", "-O2", "-std=c++20", f"-I{ROOT / 'csrc'}"]
    if kind == "nvtx":
        found = subprocess.run(
            [sys.executable, ROOT / "csrc/find_nvtx.py"], check=False, capture_output=True, text=True
        )
        if found.returncode != 0:
            raise RuntimeError(found.stderr.strip())
        words += [f"-I{found.stdout.strip()}", "-DLISTEN_TO_NVTX"]
    made = subprocess.run(
        [*words, SOURCE, "-o", library, "-ldl"], check=False, capture_output=True, text=True
    )
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    return library
