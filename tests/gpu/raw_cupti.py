"""A CUPTI client in plain ctypes: shows what CUPTI itself does, independently of perfprobe's client.

Its callbacks take the GIL, so only calls through ctypes, which release it, may run meanwhile. A program with
torch could wait for ever.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from typing import Any

import torch

from tests.gpu import machine

CONCURRENT_KERNEL, RUNTIME, EXTERNAL_CORRELATION = 10, 5, 39
CUSTOM2 = 5  # kinds 3 and 4, CUSTOM0 and CUSTOM1, belong to Kineto
LAUNCH_CALLS = (
    307,
    442,
    652,
)  # cuLaunchKernel, its per-thread variant and cuLaunchKernelEx, in cupti_driver_cbid.h
_BUFFER_BYTES = 1 << 20

_ON_REQUEST = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)
)
_ON_COMPLETE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)
_ON_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)


class SubscriberParams(ctypes.Structure):
    """CUpti_SubscriberParams in cupti_callbacks.h of CUDA 13."""

    _fields_ = (
        ("struct_bytes", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("other_name", ctypes.c_char_p),
        ("other_name_bytes", ctypes.c_size_t),
    )


def library() -> Any:
    """The copy that torch has mapped, or the stand-in."""
    if machine.has_standin():
        return ctypes.CDLL(os.environ["PERFPROBE_CUPTI"])
    major = str(torch.version.cuda).split(".", maxsplit=1)[0]
    return ctypes.CDLL(f"libcupti.so.{major}")


class Client:
    """Subscribes, counts records by kind, and notes the time and thread at which buffers arrive."""

    def __init__(self) -> None:
        self.cupti = library()
        self.counts: dict[int, int] = {}
        self.arrivals: list[tuple[int, int]] = []  # (native thread, CLOCK_MONOTONIC ns)
        self.beyond: list[
            tuple[int, int, int]
        ] = []  # (bytes of a buffer, valid bytes, further bytes that are not 0)
        self._buffers: dict[int, Any] = {}
        self._subscriber = ctypes.c_void_p()
        # Kept as long as this object, because CUPTI only has their addresses.
        self._callbacks = (
            _ON_CALLBACK(lambda *_: None),
            _ON_REQUEST(self._request),
            _ON_COMPLETE(self._complete),
        )

    def subscribe(self) -> tuple[int, str]:
        """Subscribes; returns CUPTI's code, and the other client that it names."""
        other = ctypes.create_string_buffer(128)
        if not hasattr(self.cupti, "cuptiSubscribe_v2"):
            return self.cupti.cuptiSubscribe(ctypes.byref(self._subscriber), self._callbacks[0], None), ""
        params = SubscriberParams(
            ctypes.sizeof(SubscriberParams), b"gpu-check", ctypes.cast(other, ctypes.c_char_p), len(other)
        )
        code = self.cupti.cuptiSubscribe_v2(
            ctypes.byref(self._subscriber), self._callbacks[0], None, ctypes.byref(params)
        )
        return code, other.value.decode(errors="replace")

    def unsubscribe(self) -> int:
        """Returns CUPTI's code."""
        return int(self.cupti.cuptiUnsubscribe(self._subscriber))

    def register(self) -> int:
        """Returns CUPTI's code."""
        return int(self.cupti.cuptiActivityRegisterCallbacks(self._callbacks[1], self._callbacks[2]))

    def enable(self, *kinds: int) -> dict[int, int]:
        """Returns CUPTI's codes by kind."""
        return {kind: self.cupti.cuptiActivityEnable(kind) for kind in kinds}

    def disable(self, *kinds: int) -> None:
        """Errors of kinds that were not enabled do not matter."""
        for kind in kinds:
            self.cupti.cuptiActivityDisable(kind)

    def enable_launch_calls(self, on: int) -> list[int]:
        """Enables only the driver's launches; returns CUPTI's code for each."""
        return [self.cupti.cuptiActivityEnableDriverApi(call, on) for call in LAUNCH_CALLS]

    def push(self, number: int) -> int:
        """Returns CUPTI's code."""
        return int(self.cupti.cuptiActivityPushExternalCorrelationId(CUSTOM2, ctypes.c_uint64(number)))

    def pop(self) -> int:
        """Returns CUPTI's code."""
        last = ctypes.c_uint64()
        return int(self.cupti.cuptiActivityPopExternalCorrelationId(CUSTOM2, ctypes.byref(last)))

    def flush(self, *, forced: bool) -> int:
        """Returns CUPTI's code."""
        return int(self.cupti.cuptiActivityFlushAll(1 if forced else 0))

    def _request(self, buffer: Any, size: Any, most_records: Any) -> None:
        made = ctypes.create_string_buffer(_BUFFER_BYTES + 8)
        address = (ctypes.addressof(made) + 7) // 8 * 8
        self._buffers[address] = made
        buffer[0], size[0], most_records[0] = address, _BUFFER_BYTES, 0

    def _complete(self, context: Any, stream: int, buffer: Any, size: int, valid: int) -> None:
        self.arrivals.append((threading.get_native_id(), time.monotonic_ns()))
        rest = ctypes.string_at(buffer + valid, size - valid)
        self.beyond.append((size, valid, len(rest) - rest.count(0)))
        record = ctypes.c_void_p()
        args = (ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(record))
        while valid and self.cupti.cuptiActivityGetNextRecord(*args) == 0 and record.value:
            kind = ctypes.c_uint32.from_address(record.value).value
            self.counts[kind] = self.counts.get(kind, 0) + 1
        self._buffers.pop(buffer, None)
