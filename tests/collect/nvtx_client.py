"""A library that contains NVTX, compiled like torch.cuda.nvtx, which CPU builds of torch do not have."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FINDER = Path(__file__).resolve().parents[2] / "csrc" / "find_nvtx.py"
SOURCE = """\
#include <nvtx3/nvToolsExt.h>
extern "C" int client_push(const char* text) { return nvtxRangePushA(text); }
extern "C" int client_push_wide() { return nvtxRangePushW(L"wide"); }
extern "C" int client_pop() { return nvtxRangePop(); }
extern "C" unsigned long client_start(const char* text) { return nvtxRangeStartA(text); }
extern "C" void client_end(unsigned long range) { nvtxRangeEnd(range); }
"""


def build(folder: Path) -> Path:
    """Builds the library. Skips the test without a compiler or NVTX."""
    compiler = shutil.which("c++") or shutil.which("g++")
    found = subprocess.run([sys.executable, FINDER], capture_output=True, text=True, check=False)
    if compiler is None or found.returncode != 0:
        pytest.skip(f"no NVTX client can be compiled: {found.stderr.strip() or 'no C++ compiler'}")
    source, library = folder / "client.cpp", folder / "libclient.so"
    source.write_text(SOURCE)
    include = f"-I{found.stdout.strip()}"
    subprocess.run([compiler, "-shared", "-fPIC", include, source, "-o", library, "-ldl"], check=True)
    return library
