"""Computes blocks per multiprocessor and occupancy of kernels, by launch and device."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perfprobe.models import occupancy
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int32, Rows
from perfprobe.tables.gpu import Kernels, KinetoLaunches, Launches
from perfprobe.tables.recording import Recording

Floats: TypeAlias = npt.NDArray[np.float64]


@frozen
class LaunchSizes:
    """Figures of each kernel. NaN means not known. Occupancies are fractions of 1.

    Attributes:
        blocks_per_sm: blocks of the grid divided by multiprocessors of the device. Kineto's if those are not
            known.
        theoretical: how full of this kernel a multiprocessor can be.
        occupancy: how full it is with this grid, spread evenly: `occupancy.achieved`.
        plugin_occupancy: Kineto's estimate, which is 0 for blocks with more than 48 KiB of shared memory. If
            Kineto did not record, it is perfprobe's.
    """

    blocks_per_sm: Floats
    theoretical: Floats
    occupancy: Floats
    plugin_occupancy: Floats

    def take(self, rows: Rows | npt.NDArray[np.bool_]) -> LaunchSizes:
        """Returns the figures of these kernels."""
        return LaunchSizes(**{name: column[rows] for name, column in vars(self).items()})


def sizes_of(recording: Recording, kernels: Kernels) -> LaunchSizes:
    """Returns the figures of these kernels."""
    key = kernels.device.astype(np.int64) * (1 << 32) + kernels.launch
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(key[order]) != 0)) if len(key) else order
    group = np.empty(len(key), np.int64)
    group[order] = np.cumsum(np.append(0, np.diff(key[order]) != 0)) if len(key) else 0
    leaders = order[first]
    found = LaunchTable(recording).sizes(kernels.device[leaders], kernels.launch[leaders])
    return found.take(group)


class LaunchTable:
    """What a recording has of launches and devices."""

    def __init__(self, recording: Recording) -> None:
        self._launches, facts = recording[Launches], recording[KinetoLaunches]
        both = np.stack([self._launches.static_shared_bytes, self._launches.dynamic_shared_bytes])
        own = np.where((both >= 0).any(axis=0), np.maximum(both, 0).sum(axis=0, dtype=np.int64), -1)
        self._is_kinetos = len(facts) == len(self._launches)
        self._percent = (
            facts.occupancy_percent if self._is_kinetos else np.full(len(self._launches), -1, np.int32)
        )
        self._blocks = (
            facts.blocks_per_sm_millionths if self._is_kinetos else np.full(len(self._launches), -1)
        )
        self._shared = np.where(own >= 0, own, facts.shared_bytes) if self._is_kinetos else own
        devices = recording.fact("gpu", "devices")
        self._devices = devices if isinstance(devices, list) else []

    def shared_bytes(self, launch: int) -> int | None:
        """Returns the shared memory of a block, declared and requested; None if not known."""
        found = int(self._shared[launch]) if 0 <= launch < len(self._shared) else -1
        return found if found >= 0 else None

    def sizes(self, device: Int32, launch: Int32) -> LaunchSizes:
        """Returns the figures of kernels with these devices and launches."""
        rows = [self.of(*pair) for pair in zip(device.tolist(), launch.tolist(), strict=True)]
        columns = np.array(rows, np.float64).reshape(-1, 4).T
        return LaunchSizes(*columns)

    def of(self, device: int, launch: int) -> tuple[float, float, float, float]:
        """Returns the columns of `LaunchSizes` for one kernel."""
        none = float("nan")
        facts = self._devices[device] if 0 <= device < len(self._devices) else None
        if not 0 <= launch < len(self._launches):
            return none, none, none, none
        percent = int(self._percent[launch])
        own = self._computed(facts, launch) if isinstance(facts, Mapping) else (none, none, none)
        given = int(self._blocks[launch])
        if math.isnan(own[0]) and given >= 0:  # without facts about the device
            own = given / 1e6, *own[1:]
        return (*own, percent / 100 if percent >= 0 else none if self._is_kinetos else own[2])

    def _computed(self, facts: Mapping[str, Any], launch: int) -> tuple[float, float, float]:
        none = float("nan")
        sizes = {name: int(column[launch]) for name, column in self._launches.columns().items()}
        axes = [sizes[f"{of}_{axis}"] for of in ("grid", "block") for axis in "xyz"]
        count, gpu = occupancy.multiprocessors(facts), occupancy.device(facts)
        if min(axes) <= 0 or count is None:
            return none, none, none
        blocks = axes[0] * axes[1] * axes[2]
        threads, shared = axes[3] * axes[4] * axes[5], int(self._shared[launch])
        if gpu is None or sizes["registers"] < 0 or shared < 0:
            return blocks / count, none, none
        how = occupancy.Launch(threads, sizes["registers"], shared)
        return blocks / count, occupancy.theoretical(gpu, how), occupancy.achieved(gpu, how, blocks)
