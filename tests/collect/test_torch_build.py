from types import SimpleNamespace
from typing import Any

import pytest

from perfprobe.collect import torch_build

SHOWN = """PyTorch built with:
  - GCC 13.3
  - C++ Version: 202002
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
  - CPU capability usage: AVX2
  - CUDA Runtime 12.8
  - CuDNN 91.0.2
  - Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release, COMMIT_SHA=0, CXX_FLAGS= -O2
"""


def fake(cuda: str | None, *, used: bool) -> Any:
    def show() -> str:
        return SHOWN

    return SimpleNamespace(
        version=SimpleNamespace(cuda=cuda, hip=None),
        cuda=SimpleNamespace(
            is_initialized=lambda: used, device_count=lambda: 2, get_device_name=lambda at: f"device {at}"
        ),
        __config__=SimpleNamespace(show=show),
    )


def test_facts_of_the_text() -> None:
    assert torch_build.facts(SHOWN) == {
        "compiler": "GCC 13.3",
        "openmp": "OpenMP 4.5",
        "cpu_capability": "AVX2",
        "cuda_runtime": "12.8",
        "cudnn": "91.0.2",
        "blas": "mkl",
        "build_type": "Release",
    }
    assert torch_build.facts("something else") == {}


def test_a_gpu_is_queried_only_if_the_program_used_it() -> None:
    assert torch_build.describe(fake("12.8", used=False)) == {}
    assert torch_build.describe(fake("12.8", used=True))["devices"] == ["device 0", "device 1"]
    assert "devices" not in torch_build.describe(fake(None, used=False))


def test_facts_of_the_installed_torch() -> None:
    torch = pytest.importorskip("torch")
    if torch.version.cuda is None:
        found = torch_build.describe(torch)
        assert found["cpu_capability"] == torch.backends.cpu.get_cpu_capability()
