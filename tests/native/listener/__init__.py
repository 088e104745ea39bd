"""Builds the listening tools for NVTX and ITT, which log perfprobe's own ranges as described in heard.h."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDER = Path(__file__).parent
LOG = "PERFPROBE_LISTENER_LOG"
VARIABLES = {"nvtx": "NVTX_INJECTION64_PATH", "itt": "INTEL_LIBITTNOTIFY64"}


def build(kind: str, folder: Path) -> Path:
    """Compiles one into the folder. Kinds: `nvtx`, `itt`, or `ports`, which replaces the observer's ports.

    Raises:
        RuntimeError: why it cannot be compiled.
    """
    compiler = shutil.which(os.environ.get("CXX", "c++").split()[0])
    if compiler is None:
        raise RuntimeError("there is no C++ compiler")
    library = folder / f"lib{kind}_listener.so"
    words = [compiler, "-shared", "-fPIC", "-O2", "-std=c++20", f"-I{ROOT / 'csrc'}"]
    if kind == "nvtx":
        words.append(f"-I{_nvtx_headers()}")
    sources = [FOLDER / "heard.cpp", FOLDER / f"{kind}.cpp"]
    made = subprocess.run(
        [*words, *sources, "-o", library, "-ldl"], check=False, capture_output=True, text=True
    )
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    return library


def _nvtx_headers() -> str:
    found = subprocess.run(
        [sys.executable, ROOT / "csrc/find_nvtx.py"], check=False, capture_output=True, text=True
    )
    if found.returncode != 0:
        raise RuntimeError(found.stderr.strip())
    return found.stdout.strip()
