"""What can be checked here: a driver with a GPU, or the stand-in for CUPTI."""

from __future__ import annotations

import ctypes
import os


def driver_missing() -> str | None:
    """Why no GPU can be used, such as 'no driver: ...'; None if one can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"no driver: {error}"
    count = ctypes.c_int()
    code = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if code:
        return f"no driver: the one here answers with error {code}"
    return None if count.value else "no GPU: the driver sees none"


def has_standin() -> bool:
    """Whether the environment selects the stand-in for libcupti and assumes a driver."""
    return bool(os.environ.get("PERFPROBE_CUPTI") and os.environ.get("PERFPROBE_ASSUME_DRIVER"))
