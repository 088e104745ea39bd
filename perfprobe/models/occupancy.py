"""Computes how many blocks of a kernel fit on a multiprocessor of a GPU: its theoretical occupancy.

The rules are those of NVIDIA's cuda_occupancy.h, which is part of CUDA:
`cudaOccMaxActiveBlocksPerMultiprocessor`, with the largest shared memory that the device allows. Limits that
were not recorded are those of the compute capability in the CUDA C++ Programming Guide, "Technical
Specifications per Compute Capability".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfprobe.support.frozen import frozen

_WARP = 32  # threads
_REGISTER_UNIT = 256  # a warp gets registers in portions of this many
_MOST_BLOCKS = {(7, 5): 16, (8, 0): 32, (8, 9): 24, (10, 1): 24, (11, 0): 24}
_MOST_BLOCKS_OF_MAJOR = {3: 16, 8: 16, 12: 24}
_SHARED_KB = {(5, 2): 96, (6, 1): 96, (7, 0): 96, (7, 2): 96, (8, 0): 164, (8, 7): 164}
_SHARED_KB_OF_MAJOR = {5: 64, 6: 64, 7: 64, 8: 100, 9: 228, 10: 228, 11: 228, 12: 100}
_MAJORS = range(5, 13)
_MOST = 1 << 40


@frozen
class Device:
    """The limits of an NVIDIA GPU. Sizes are per multiprocessor.

    Attributes:
        capability: compute capability.
        reserved_bytes: shared memory that the driver takes for each block.
    """

    multiprocessors: int
    threads: int
    registers: int
    shared_bytes: int
    reserved_bytes: int
    capability: tuple[int, int]


@frozen
class Launch:
    """How a kernel was launched: threads and shared memory of a block, registers of a thread."""

    threads: int
    registers: int
    shared_bytes: int


def multiprocessors(facts: Mapping[str, Any]) -> int | None:
    """Returns the number of multiprocessors; None if it was not recorded."""
    return _number(facts, "multiprocessors")


def device(facts: Mapping[str, Any]) -> Device | None:
    """Returns the recorded limits of a device; None if they are incomplete, or it is no NVIDIA GPU."""
    count, threads = multiprocessors(facts), _number(facts, "multiprocessor_threads")
    major, minor = _number(facts, "compute_major"), _number(facts, "compute_minor", least=0)
    if count is None or threads is None or major is None or minor is None:
        return None
    if major not in _MAJORS or facts.get("warp_threads", _WARP) != _WARP:  # AMD's GPUs have other rules
        return None
    capability = major, minor
    shared_kb = _SHARED_KB.get(capability, _SHARED_KB_OF_MAJOR[major])
    return Device(
        multiprocessors=count,
        threads=threads,
        registers=_number(facts, "multiprocessor_registers") or 1 << 16,
        shared_bytes=_number(facts, "multiprocessor_shared_bytes") or shared_kb << 10,
        reserved_bytes=1024 if major >= 8 else 0,
        capability=capability,
    )


def blocks_that_fit(gpu: Device, launch: Launch) -> int:
    """Returns how many blocks run on a multiprocessor at the same time; 0 if a block does not fit."""
    warps = -(-launch.threads // _WARP)
    if launch.threads <= 0:
        return 0
    most = _MOST_BLOCKS.get(gpu.capability, _MOST_BLOCKS_OF_MAJOR.get(gpu.capability[0], 32))
    by_warps = gpu.threads // _WARP // warps
    return min(most, by_warps, _by_registers(gpu, launch.registers, warps), _by_shared(gpu, launch))


def achieved(gpu: Device, launch: Launch, blocks: int) -> float:
    """Returns Kineto's "est. achieved occupancy" as a fraction of 1.

    This is the number of threads that run on a multiprocessor divided by those that it can hold; a grid may
    be too small for all multiprocessors. Source: DeviceProperties.cpp of Kineto.

    Args:
        blocks: of the whole grid.
    """
    running = min(blocks / gpu.multiprocessors, blocks_that_fit(gpu, launch))
    return running * launch.threads / gpu.threads


def theoretical(gpu: Device, launch: Launch) -> float:
    """Returns NVIDIA's theoretical occupancy, of 1: the most a multiprocessor can hold, for any grid."""
    warps = -(-launch.threads // _WARP)
    return blocks_that_fit(gpu, launch) * warps * _WARP / gpu.threads


def _by_registers(gpu: Device, registers: int, warps: int) -> int:
    if registers <= 0:
        return _MOST
    of_warp = _rounded_up(registers * _WARP, _REGISTER_UNIT)
    parts = 2 if gpu.capability == (6, 0) else 4
    if of_warp * _rounded_up(warps, parts) > min(gpu.registers, 1 << 16):  # the most registers of a block
        return 0
    return gpu.registers // parts // of_warp * parts // warps


def _by_shared(gpu: Device, launch: Launch) -> int:
    unit = 256 if gpu.capability[0] < 8 else 128
    size_bytes = _rounded_up(max(launch.shared_bytes, 0) + gpu.reserved_bytes, unit)
    return gpu.shared_bytes // size_bytes if size_bytes else _MOST


def _rounded_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _number(facts: Mapping[str, Any], name: str, least: int = 1) -> int | None:
    value = facts.get(name)
    return value if type(value) is int and least <= value < 1 << 31 else None
