"""Links and figures of traces that torch.profiler wrote on GPUs. Needs PERFPROBE_TRACES."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.diagnose.gpu import Use, limit
from perfprobe.tables.gpu import Copies, ExternalIds, GpuLinks, Kernels, WaitKind
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.gpu_verdict import GpuLimit
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.analyse.test_gpu import analysed
from tests.kineto import Told, recorded

# Kernels and copies that have the operator named in the trace, and those whose launch is not in the trace.
# There are no others, which would be disagreements. Traces of 2023 name no operators, so nothing is compared.
LINKED = {
    "a100_nccl": (3774, 0),
    "h100_bert_small": (61, 0),
    "h100_qwen_0.5b": (1198, 509),  # launched before the trace began
    "mi300_triton_compile": (12, 0),
    "v100_resnet50_num_workers_0": (9096, 0),
    "v100_resnet50_num_workers_4": (9258, 0),
}
WITHOUT_NAMES = {"a100_event_sync": 5, "a100_simple_add": 98}
# Without the one that has the same kinds of events as that of 0 workers.
DIFFERENT = [name for name in (*LINKED, *WITHOUT_NAMES) if name != "v100_resnet50_num_workers_4"]
# Traces in which everything that runs in a step was launched in it, and nothing overlaps.
STEPS = ("a100_event_sync", "h100_bert_small", "v100_resnet50_num_workers_0", "v100_resnet50_num_workers_4")


def folder() -> Path:
    named = os.environ.get("PERFPROBE_TRACES")
    if not named or not Path(named).is_dir():
        pytest.skip("PERFPROBE_TRACES names no folder of traces")
    return Path(named)


def recording_of(name: str) -> tuple[Recording, Told]:
    path = folder() / f"{name}.json.gz"
    if not path.is_file():
        pytest.skip(f"no {path.name} in PERFPROBE_TRACES")
    return recorded(path)


Traced = Callable[[str], tuple[Trace, GpuFindings, Told]]


@pytest.fixture(scope="module")
def traced() -> Traced:
    """A trace by its name, read and analysed on first use."""

    @cache
    def read(name: str) -> tuple[Trace, GpuFindings, Told]:
        recording, reported = recording_of(name)
        return (*analysed(recording), reported)

    return read


def use_of(found: GpuFindings) -> tuple[Use, int]:
    """The use of the only GPU, and the time from its first to its last work."""
    span_ns = int(found.devices.last_ns[0] - found.devices.first_ns[0])
    return Use.of(found.devices, 0, span_ns), span_ns


def links_of(trace: Trace) -> GpuLinks:
    assert trace.gpu is not None
    return trace.gpu


def compared(trace: Trace, reported: Told) -> Counter[str]:
    """Counts the kernels and copies that are linked as in the trace."""
    links = links_of(trace)
    found: Counter[str] = Counter()
    for calls, named in ((links.kernel_call, reported.kernels), (links.copy_call, reported.copies)):
        for call, (operator, _) in zip(calls.tolist(), named, strict=True):
            name = -1 if call < 0 else int(links.sites.name[call])
            ours = (trace.recording[Strings][name], int(links.sites.start_ns[call])) if name >= 0 else None
            agree = ours == reported.operators.get(-1 if operator is None else operator)
            found["no call" if call < 0 else "agree" if agree else f"{operator}, not {ours}"] += 1
    return found


@pytest.mark.parametrize("name", LINKED)
def test_every_kernel_and_copy_has_the_operator_that_the_trace_names(name: str, traced: Traced) -> None:
    trace, found, reported = traced(name)
    assert reported.names_operators
    agree, no_call = LINKED[name]
    assert compared(trace, reported) == Counter(
        {"agree": agree, "no call": no_call} if no_call else {"agree": agree}
    )
    assert (found.unlinked, found.outside) == (no_call, 0)


@pytest.mark.parametrize("name", WITHOUT_NAMES)
def test_in_traces_without_operators_all_work_is_linked_to_calls(name: str, traced: Traced) -> None:
    _, found, reported = traced(name)
    assert not reported.names_operators
    assert len(reported.kernels) + len(reported.copies) == WITHOUT_NAMES[name]
    assert found.unlinked == 0


@pytest.mark.parametrize("name", ["a100_nccl", "h100_bert_small", "h100_qwen_0.5b"])
def test_external_ids_and_times_name_the_same_operators(name: str) -> None:
    """Links by the ids of the trace. Not for traces in whole microseconds."""
    recording, reported = recording_of(name)
    named = {
        correlation: operator for operator, correlation in reported.kernels + reported.copies if operator
    }
    ids = ExternalIds(
        correlation=np.array(list(named), np.int64),
        start_ns=np.array([reported.operators[operator][1] for operator in named.values()], np.int64),
    )
    trace, found = analysed(replace(recording, tables={**recording.tables, ExternalIds: ids}))
    assert (found.exact, found.disagreements) == (LINKED[name][0], 0)
    assert compared(trace, reported)["agree"] == LINKED[name][0]


def published(name: str) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((folder() / "tensorboard_plugin_figures.json").read_text())[name]
    return figures


@pytest.mark.parametrize("name", STEPS)
def test_time_in_steps_is_as_published(name: str, traced: Traced) -> None:
    _, found, _ = traced(name)
    figures = published(name)["breakdown_us"]
    counts = found.step_counts
    assert (counts.step >= 0).all()
    assert round(counts.kernel_ns.mean() / 1000) == figures["Kernel"]
    assert abs(counts.copy_ns.mean() / 1000 - figures["Memcpy"] - figures["Memset"]) <= 1


def test_a_busy_device_is_as_published(traced: Traced) -> None:
    """Two streams: their plugin gives each moment to one kind, so the sum of its kinds is our busy time."""
    _, found, _ = traced("a100_simple_add")
    figures = published("a100_simple_add")["breakdown_us"]
    busy_us = sum(figures[kind] for kind in ("Kernel", "Memcpy", "Memset"))
    assert found.devices.busy_ns.tolist() == [busy_us * 1000]


@pytest.mark.parametrize("name", [*LINKED, *WITHOUT_NAMES])
def test_sums_are_those_of_the_trace(name: str, traced: Traced) -> None:
    trace, found, reported = traced(name)
    gpu = trace.recording
    assert found.kernels.kernels.sum() == len(reported.kernels)
    assert found.kernels.total_ns.sum() == (gpu[Kernels].end_ns - gpu[Kernels].start_ns).sum()
    assert found.copies.copies.sum() == len(reported.copies)
    assert found.copies.total_ns.sum() == (gpu[Copies].end_ns - gpu[Copies].start_ns).sum()
    rows = [batch.take(batch.scope != 7) for batch in trace.operators()]
    own_ns = sum(int(batch.gpu_self_ns.sum()) for batch in rows)
    calls = np.concatenate([links_of(trace).kernel_call, links_of(trace).copy_call])
    inside = np.append(links_of(trace).sites.name >= 0, False)[calls]
    times_ns = np.concatenate([rows.end_ns - rows.start_ns for rows in (gpu[Kernels], gpu[Copies])])
    assert own_ns == times_ns[inside].sum()


# Durations of the calls of copies of 19 MB in us, read from the traces. Calls of 256 bytes end before the
# copy begins.
PAGEABLE = {
    "v100_resnet50_num_workers_0": (2022, 2027, 2020, 2021, 2016, 1867),
    "v100_resnet50_num_workers_4": (39_996, 3082, 3088, 3114, 3870, 3015),
}


@pytest.mark.parametrize("name", PAGEABLE)
def test_copies_of_pageable_memory_are_waits(name: str, traced: Traced) -> None:
    """Traces of torch 1.9 have no synchronization records, so all waits are inside copies."""
    trace, found, _ = traced(name)
    (row,) = range(len(found.waits))
    assert found.waits.kind[row] == WaitKind.PAGEABLE_COPY
    assert trace.recording[Strings][found.waits.call[row]] == "cudaMemcpyAsync"
    assert found.waits.waits[row] == len(PAGEABLE[name])
    assert found.waits.total_ns[row] == sum(PAGEABLE[name]) * 1000
    assert found.waits.longest_ns[row] == max(PAGEABLE[name]) * 1000


def swept_ns(events: list[dict[str, Any]]) -> int:
    """How long at least one of these events was open, by counting starts and ends."""
    edges = [(round(event["ts"] * 1000), 1) for event in events]
    edges += [(round(event["ts"] * 1000) + round(event["dur"] * 1000), -1) for event in events]
    edges.sort(key=lambda edge: (edge[0], -edge[1]))
    total_ns = depth = begun_ns = 0
    for time_ns, change in edges:
        if depth == 0:
            begun_ns = time_ns
        depth += change
        if depth == 0:
            total_ns += time_ns - begun_ns
    return total_ns


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a100_nccl", GpuLimit.PROGRAM),
        ("h100_qwen_0.5b", GpuLimit.COMPUTING),
        ("v100_resnet50_num_workers_0", GpuLimit.BOTH),
        ("v100_resnet50_num_workers_4", GpuLimit.BOTH),
        ("h100_bert_small", GpuLimit.PROGRAM),
    ],
)
def test_times_of_kernels_copies_and_nccl(name: str, expected: GpuLimit, traced: Traced) -> None:
    _, found, _ = traced(name)
    with gzip.open(folder() / f"{name}.json.gz") as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    by_category: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        category = event.get("cat", "").lower().removeprefix("gpu_")
        nccl = category == "kernel" and event["name"].startswith("nccl")
        by_category.setdefault("nccl" if nccl else category, []).append(event)
    copies = by_category.get("memcpy", []) + by_category.get("memset", [])
    devices = found.devices
    assert devices.computing_ns.tolist() == [swept_ns(by_category["kernel"])]
    assert devices.communication_ns.tolist() == [swept_ns(by_category.get("nccl", []))]
    assert devices.copying_ns.tolist() == [swept_ns(copies)]
    use, span_ns = use_of(found)
    assert limit(found, use, span_ns, span_ns) is expected


def test_a_loop_bound_by_copies_is_recognized(traced: Traced) -> None:
    """The copies of an image classification trace, one after the other, without the time between them."""
    _, found, _ = traced("a100_simple_add")
    busy_ns = int(found.devices.busy_ns[0])
    assert use_of(found)[0].busy < 0.01
    assert limit(found, Use.of(found.devices, 0, busy_ns), busy_ns, busy_ns) is GpuLimit.COPYING
