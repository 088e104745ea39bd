"""Blocks that fit on a multiprocessor, compared with CUDA's own cuda_occupancy.h and with Kineto."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from perfprobe.models.occupancy import Device, Launch, achieved, blocks_that_fit, device, theoretical

# Threads, registers and shared memory of the launches, and what occupancy.cpp prints for each GPU:
# (compute capability, multiprocessors, threads of each).
LAUNCHES = (
    *((32, 16, 0), (33, 255, 4096), (64, 126, 8448), (96, 40, 20000), (128, 168, 49152), (256, 64, 16384)),
    *((384, 168, 1024), (544, 96, 30000), (1024, 64, 48000), (1024, 65, 0), (992, 0, 100)),
)
FITTING = {
    (6, 0, 56, 2048): (32, 4, 7, 3, 1, 4, 1, 1, 1, 0, 2),
    (7, 0, 80, 2048): (32, 4, 8, 4, 2, 4, 1, 1, 1, 0, 2),
    (7, 5, 40, 1024): (16, 4, 7, 3, 1, 4, 1, 1, 1, 0, 1),
    (8, 0, 108, 2048): (32, 4, 8, 7, 3, 4, 1, 1, 1, 0, 2),
    (8, 6, 84, 1536): (16, 4, 8, 4, 2, 4, 1, 1, 1, 0, 1),
    (8, 9, 142, 1536): (24, 4, 8, 4, 2, 4, 1, 1, 1, 0, 1),
    (9, 0, 132, 2048): (32, 4, 8, 11, 3, 4, 1, 1, 1, 0, 2),
    (10, 0, 148, 2048): (32, 4, 8, 11, 3, 4, 1, 1, 1, 0, 2),
    (12, 0, 188, 1536): (24, 4, 8, 4, 2, 4, 1, 1, 1, 0, 1),
}
NAMES = ("compute_major", "compute_minor", "multiprocessors", "multiprocessor_threads")
TRACES = {  # kernels whose estimate is compared; those with more than 48 KiB, which have an estimate of 0
    "v100_resnet50_num_workers_0": (8772, 0),
    "a100_nccl": (2286, 414),
    "h100_qwen_0.5b": (1224, 241),
    "h100_bert_small": (51, 9),
}


@pytest.mark.parametrize("gpu", FITTING, ids=lambda gpu: f"{gpu[0]}.{gpu[1]}")
def test_the_number_of_blocks_that_fit_equals_cudas(gpu: tuple[int, int, int, int]) -> None:
    found = device(dict(zip(NAMES, gpu, strict=True)))
    assert found is not None
    assert tuple(blocks_that_fit(found, Launch(*launch)) for launch in LAUNCHES) == FITTING[gpu]


def test_blocks_with_more_shared_memory_than_the_default_limit() -> None:
    """One block of FlashAttention-3 on an H100 uses 227 KiB, and the driver reserves one more."""
    h100 = Device(132, 2048, 65536, 228 << 10, 1024, (9, 0))
    assert blocks_that_fit(h100, Launch(384, 168, 227 << 10)) == 1
    assert blocks_that_fit(h100, Launch(384, 168, 228 << 10)) == 0
    assert theoretical(h100, Launch(384, 168, 227 << 10)) == 384 / 2048
    assert achieved(h100, Launch(384, 168, 227 << 10), 66) == 0.5 * 384 / 2048  # for half of them


@pytest.mark.parametrize(
    "reported",
    [
        {},
        {**dict(zip(NAMES, (9, 4, 304, 2048), strict=True)), "warp_threads": 64},  # of AMD
        dict(zip(NAMES, (13, 0, 100, 2048), strict=True)),  # of the future
        dict(zip(NAMES, ("9", 0, 132, 2048), strict=True)),
        dict(zip(NAMES, (9, 0, 1 << 40, 2048), strict=True)),
    ],
)
def test_unknown_gpus_have_no_estimate(reported: dict[str, Any]) -> None:
    assert device(reported) is None


@pytest.mark.parametrize("name", TRACES)
def test_estimates_of_kineto(name: str) -> None:
    """Kineto takes blocks with more than 48 KiB for too large, as it does not use the opt-in limit."""
    path = Path(os.environ.get("PERFPROBE_TRACES", "")) / f"{name}.json.gz"
    if not os.environ.get("PERFPROBE_TRACES") or not path.exists():
        pytest.skip("PERFPROBE_TRACES names no folder of traces")
    with gzip.open(path) as file:
        trace = json.load(file)
    (gpu,) = [_device(reported) for reported in trace["deviceProperties"] if reported["id"] == 0]
    same = large = 0
    for event in trace["traceEvents"]:
        if event.get("cat", "").lower() != "kernel":
            continue
        facts = event["args"]
        (blocks, threads), shared = map(_product, (facts["grid"], facts["block"])), facts["shared memory"]
        ours = 100 * achieved(gpu, Launch(threads, facts["registers per thread"], shared), blocks)
        stated = facts["est. achieved occupancy %"]
        if shared > 48 << 10 and stated == 0:
            large += 1
            continue
        assert stated == pytest.approx(ours, abs=0.5 + 1e-9)  # it rounds
        same += 1
    assert (same, large) == TRACES[name]


def _product(sizes: list[int]) -> int:
    return sizes[0] * sizes[1] * sizes[2]


def _device(reported: dict[str, Any]) -> Device:
    names = ("computeMajor", "computeMinor", "numSms", "maxThreadsPerMultiprocessor")
    found = device({own: reported[name] for own, name in zip(NAMES, names, strict=True)})
    assert found is not None
    assert (found.registers, found.shared_bytes) == (
        reported["regsPerMultiprocessor"],
        reported["sharedMemPerMultiprocessor"],
    )
    return found
