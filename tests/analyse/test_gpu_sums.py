"""What a report says of GPUs, against sums over the JSON of published traces, to the nanosecond.

Needs PERFPROBE_TRACES. `told` reads the trace by itself; it shares nothing with the reader.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from functools import cache
from typing import Any

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.analyse.test_gpu_traces import folder

TRACES = (
    *("a100_event_sync", "a100_nccl", "a100_simple_add", "backward_thread", "h100_bert_small"),
    *("h100_qwen_0.5b", "mi300_triton_compile", "sglang_decode", "v100_resnet50_num_workers_0"),
    *("v100_resnet50_num_workers_4", "vllm_decode_graphs"),
)
_KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "copy", "memcpy": "copy", "memset": "copy"}
_COLLECTIVE = ("nccl", "cross_device_reduce", "allreduce_fusion")  # of these traces
Spans = list[tuple[int, int]]


class Told:
    """The work on GPUs that a trace has: kernels by name, and the times of each device's work by kind."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.kernels: Counter[str] = Counter()
        self.number: Counter[str] = Counter()
        self.spans: defaultdict[int, defaultdict[str, Spans]] = defaultdict(lambda: defaultdict(list))
        for event in events:
            kind = _KINDS.get(str(event.get("cat", "")).lower())
            if event.get("ph") != "X" or kind is None:
                continue
            start_ns = round(event["ts"] * 1000)
            end_ns = start_ns + round(event["dur"] * 1000)
            name = event["name"]
            if kind == "kernel":
                self.kernels[name] += end_ns - start_ns
                self.number[name] += 1
                kind = "communication" if any(word in name for word in _COLLECTIVE) else "kernel"
            self.spans[event["args"]["device"]][kind].append((start_ns, end_ns))

    def open_ns(self, device: int, *kinds: str) -> int:
        """For how long any of these kinds was at work."""
        whole_ns, until_ns = 0, -1
        for start_ns, end_ns in sorted(span for kind in kinds for span in self.spans[device][kind]):
            whole_ns += max(end_ns - max(start_ns, until_ns), 0)
            until_ns = max(until_ns, end_ns)
        return whole_ns

    def first_to_last_ns(self, device: int) -> int:
        every = [span for spans in self.spans[device].values() for span in spans]
        return max(end for _, end in every) - min(start for start, _ in every)


@cache
def both(name: str) -> tuple[Told, dict[str, list[dict[str, Any]]]]:
    path = folder() / f"{name}.json.gz"
    if not path.is_file():
        pytest.skip(f"no {path.name} in PERFPROBE_TRACES")
    with gzip.open(path) as file:
        told = Told(json.load(file)["traceEvents"])
    return told, Results(str(path)).document(View())["tables"]


@pytest.mark.parametrize("name", TRACES)
def test_kernels_by_name(name: str) -> None:
    told, tables = both(name)
    total_ns, number = Counter[str](), Counter[str]()
    for row in tables["kernels"]:
        total_ns[row["name"]] += row["total_ns"]
        number[row["name"]] += row["kernels"]
    assert total_ns == told.kernels
    assert number == told.number


@pytest.mark.parametrize("name", TRACES)
def test_operators_have_the_time_of_all_kernels(name: str) -> None:
    told, tables = both(name)
    rows = tables["tensor_cores"]
    assert sum(row["kernel_ns"] for row in rows) == told.kernels.total()
    assert sum(row["kernels"] for row in rows) == told.number.total()


@pytest.mark.parametrize("name", TRACES)
def test_each_device(name: str) -> None:
    told, tables = both(name)
    assert {row["device"] for row in tables["devices"]} == told.spans.keys()
    for row in tables["devices"]:
        device = row["device"]
        assert row["busy_ns"] == told.open_ns(device, "kernel", "communication", "copy")
        assert row["computing_ns"] == told.open_ns(device, "kernel")
        assert row["communication_ns"] == told.open_ns(device, "communication")
        assert row["copying_ns"] == told.open_ns(device, "copy")


@pytest.mark.parametrize("name", TRACES)
def test_parts_of_a_devices_time(name: str) -> None:
    """They are disjoint: computing hides communication, both hide copies. Not where steps are judged."""
    told, tables = both(name)
    rows = tables.get("gpu_account", [])
    sums = Counter[str]()
    for row in rows:
        sums[row["kind"]] += row["time_ns"]
    if not rows or sums.total() != told.first_to_last_ns(device := busiest(tables)):
        pytest.skip("this run is judged by its steps")
    work = ("kernel", "communication", "copy")
    hidden_ns = 0
    for at, kind in enumerate(work):
        until_ns = told.open_ns(device, *work[: at + 1])
        assert sums[kind] == until_ns - hidden_ns
        hidden_ns = until_ns
    assert sums["idle"] == told.first_to_last_ns(device) - hidden_ns


def busiest(tables: dict[str, list[dict[str, Any]]]) -> int:
    return int(max(tables["devices"], key=lambda row: row["busy_ns"])["device"])


def test_the_plugins_share_of_eligible_operators() -> None:
    """The TensorBoard plugin says 68 % of both runs of its tutorial."""
    for name in ("v100_resnet50_num_workers_0", "v100_resnet50_num_workers_4"):
        _, tables = both(name)
        rows = [row for row in tables["tensor_cores"] if row["operator"] is not None]
        eligible_ns = sum(row["kernel_ns"] for row in rows if row["in_plugin_list"])
        assert round(100 * eligible_ns / sum(row["kernel_ns"] for row in rows)) == 68
        assert sum(row["tensor_ns"] for row in rows) == 0
