"""Memory events of traces: of the CPU, and of the GPU with most, compared with sums over the events."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from perfprobe.read import kineto
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.device_memory import DeviceReadings
from perfprobe.tables.events import Losses
from perfprobe.tables.memory import MemoryUse
from tests.read.test_kineto import operator, written
from tests.snapshots import Snapshot, masked


def event(at_us: int, size_bytes: int, address: int, **others: int) -> dict[str, Any]:
    args = {"Bytes": size_bytes, "Addr": address, "Device Type": 0, "Device Id": -1, **others}
    return {"ph": "i", "name": "[memory]", "pid": 7, "tid": 7, "ts": at_us, "args": args}


def on_gpu(at_us: int, size_bytes: int, address: int, held: int, device: int = 0) -> dict[str, Any]:
    totals = {"Total Allocated": held, "Total Reserved": 4000}
    return event(at_us, size_bytes, address, **{"Device Type": 1, "Device Id": device}, **totals)


def test_allocations_belong_to_the_innermost_operator(tmp_path: Path) -> None:
    memory = {"ph": "i", "name": "[memory]", "pid": 7, "tid": 7}
    events = [
        operator("outer", 0, 10),
        operator("inner", 2, 4),
        {**memory, "ts": 3, "args": {"Bytes": 512}},
        {**memory, "ts": 8, "args": {"Bytes": -100}},
    ]
    (rows,) = kineto.read(written(tmp_path / "trace.json", events)).operators()
    assert rows.allocated_bytes.tolist() == [512, 0]
    assert rows.freed_bytes.tolist() == [0, 100]


def test_memory_of_the_cpu_is_that_of_a_recording(tmp_path: Path) -> None:
    events = [
        operator("aten::add", 0, 10),
        event(2, 512, 1 << 12),
        event(3, 256, 2 << 12),
        event(8, -256, 2 << 12),
        event(20, -4096, 3 << 12),  # older than the trace
        operator("aten::mul", 30, 10),
        event(31, 128, 2 << 12),
    ]
    results = Results(str(written(tmp_path / "trace.json", events)))
    use = results.findings(View(), (MemoryUse,))[MemoryUse]
    assert (use.allocations, use.allocated_bytes, use.peak_bytes, use.held_bytes) == (3, 896, 768, 640)
    (row,) = results.document(View())["tables"]["memory"]
    assert (row["device"], row["before_bytes"]) == ("CPU", None)
    operators = {each["name"]: each for each in results.document(View())["tables"]["memory_operators"]}
    assert operators["aten::add"]["allocated_bytes"] == 768
    assert operators["aten::mul"]["held_bytes"] == 128


def test_the_gpu_with_most_is_shown_and_the_rest_is_a_loss(tmp_path: Path, snapshot: Snapshot) -> None:
    events = [
        operator("aten::add", 0, 10),
        event(1, 64, 9 << 12),
        on_gpu(2, 100, 1 << 12, held=1100),
        on_gpu(3, 300, 2 << 12, held=1400, device=1),
        on_gpu(5, 200, 3 << 12, held=1600, device=1),
        on_gpu(6, -300, 2 << 12, held=1300, device=1),
    ]
    recording = kineto.read(written(tmp_path / "trace.json", events))
    readings = recording[DeviceReadings]
    assert readings.peak_bytes.tolist() == [1100, 1400, 1600, 1600]
    assert readings.reserved_bytes.tolist() == [4000] * 4
    losses = zip(recording[Losses].reason.tolist(), recording[Losses].count.tolist(), strict=True)
    results = Results(recording.path)
    tables = results.document(View())["tables"]
    (row,) = tables["memory"]
    assert (row["device"], row["before_bytes"], row["peak_bytes"]) == ("GPU 1", 1100, 500)
    assert [each["peak_bytes"] for each in tables["device_memory"]] == [1100, 1600]
    assert [each["retries"] for each in tables["device_memory"]] == [None, None]
    snapshot(
        masked(results.text(View(view="memory")), folder=tmp_path),
        losses="\n".join(f"{count} {reason}" for reason, count in losses),
    )


def test_without_addresses_only_operators_have_bytes(tmp_path: Path) -> None:
    old = event(2, 512, 0)
    del old["args"]["Addr"]
    recording = kineto.read(written(tmp_path / "trace.json", [operator("aten::add", 0, 10), old]))
    assert recording.memory is None
    (rows,) = recording.operators()
    assert rows.allocated_bytes.tolist() == [512]


@pytest.mark.parametrize("name", ["h100_bert_small", "h100_qwen_0.5b"])
def test_real_traces_agree_with_sums_over_their_events(name: str) -> None:
    folder = os.environ.get("PERFPROBE_TRACES")
    path = Path(folder or "", f"{name}.json.gz")
    if not folder or not path.exists():
        pytest.skip("PERFPROBE_TRACES names no folder with the traces")
    with gzip.open(path) as file:
        found = [each for each in json.load(file)["traceEvents"] if each.get("name") == "[memory]"]
    args = [each["args"] for each in sorted(found, key=lambda each: float(each["ts"]))]
    args = [each for each in args if each["Device Type"] == 1]
    alive: dict[int, int] = {}
    held = peak = 0
    for each in args:
        change = each["Bytes"] if each["Bytes"] > 0 else -alive.pop(each["Addr"], 0)
        if each["Bytes"] > 0:
            alive[each["Addr"]] = each["Bytes"]
        held += change
        peak = max(peak, held)
    tables = Results(str(path)).document(View())["tables"]
    (row,), (device,) = tables["memory"], tables["device_memory"]
    assert (row["peak_bytes"], row["held_bytes"]) == (peak, held)
    assert row["before_bytes"] == args[0]["Total Allocated"] - args[0]["Bytes"]
    assert device["peak_bytes"] == max(each["Total Allocated"] for each in args)
    assert device["reserved_peak_bytes"] == max(each["Total Reserved"] for each in args)
    assert row["before_bytes"] + row["peak_bytes"] == device["peak_bytes"]
