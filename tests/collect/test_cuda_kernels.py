"""libperfprobe_cuda.so on a machine without a driver is built, loads, and says what is missing."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perfprobe import native
from perfprobe.native import CudaKernels
from perfprobe.support.errors import EnvironmentLack

CALLS: dict[str, Callable[[CudaKernels], object]] = {
    "device_count": lambda kernels: kernels.device_count(),
    "empty": lambda kernels: kernels.empty(3),
    "timed_empty": lambda kernels: kernels.timed_empty(3),
    "spin": lambda kernels: kernels.spin(1000, 2),
    "triad": lambda kernels: kernels.triad(1024, 2),
    "multiply_add": lambda kernels: kernels.multiply_add(2),
}


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.fixture
def kernels() -> CudaKernels:
    try:
        return native.cuda_kernels()
    except EnvironmentLack as missing:
        if "was not built: " in missing.where:
            pytest.skip(missing.where)
        raise


@pytest.mark.skipif(has_driver(), reason="there is a driver; make gpu-check runs these kernels")
@pytest.mark.parametrize("call", CALLS)
def test_without_a_driver_the_error_is_named(call: str, kernels: CudaKernels) -> None:
    with pytest.raises(EnvironmentLack, match=r"cudaErrorInsufficientDriver: CUDA driver version is"):
        CALLS[call](kernels)


def test_an_unbuilt_library_has_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_build.json").write_text(json.dumps({"libperfprobe_cuda": "no nvcc was found"}))
    monkeypatch.setattr(native, "_package_folders", lambda: [str(tmp_path)])
    with pytest.raises(EnvironmentLack) as caught:
        native.cuda_kernels()
    assert caught.value.where == "libperfprobe_cuda was not built: no nvcc was found"
    assert sys.executable in caught.value.remedy


def test_a_library_that_does_not_load_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libperfprobe_cuda.so").write_text("no library")
    monkeypatch.setattr(native, "_package_folders", lambda: [str(tmp_path)])
    with pytest.raises(
        EnvironmentLack, match=r"libperfprobe_cuda cannot be loaded \(.*libperfprobe_cuda\.so"
    ):
        native.cuda_kernels()
