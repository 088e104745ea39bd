"""Idle time, overlap and launches, compared with HolisticTraceAnalysis (HTA) for the same traces.

HTA's figures are in `benchmarks/truth/hta_figures.json`, made by the script beside it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import perfprobe
from perfprobe.merge import link
from perfprobe.read import kineto
from perfprobe.tables.findings import Findings
from perfprobe.tables.idle import IdleTimes, Overlaps
from perfprobe.tables.launch_times import LaunchTimes
from tests.found import find

FIGURES = Path(perfprobe.__file__).parents[1] / "benchmarks/truth/hta_figures.json"
TRACES = json.loads(FIGURES.read_text())["traces"]
_NOT_ONLY_WORK = {"a100_event_sync", "a100_simple_add", "mi300_triton_compile"}  # see below


@pytest.fixture(scope="module")
def folder() -> Path:
    named = os.environ.get("PERFPROBE_TRACES")
    if not named or not Path(named, "a100_nccl.json.gz").exists():
        pytest.skip("PERFPROBE_TRACES names no folder with the traces")
    return Path(named)


def found_in(folder: Path, name: str) -> Findings:
    trace = link(kineto.read(folder / f"{name}.json.gz"))
    return find(trace, IdleTimes, LaunchTimes)


def us(time_ns: int) -> float:
    return int(time_ns) / 1000


def alone_us(row: Overlaps, *kinds: str) -> float:
    """Time of the first device in exactly these combinations."""
    return sum(us(getattr(row, f"{kind}_ns")[0]) for kind in kinds)


@pytest.mark.parametrize("name", sorted(TRACES))
def test_idle_time_of_streams_by_category_equals_htas(folder: Path, name: str) -> None:
    """Also in traces with nanoseconds, because HTA's rounding to microseconds is switched off."""
    reported = TRACES[name]["idle"]
    rows = found_in(folder, name)[IdleTimes].streams
    ours = {
        str(stream): (us(host), us(kernel), us(other))
        for stream, host, kernel, other in zip(
            rows.stream, rows.host_wait_ns, rows.kernel_wait_ns, rows.other_ns, strict=True
        )
    }
    categories = ("host_wait", "kernel_wait", "other")
    theirs = {stream: tuple(by.get(each, 0.0) for each in categories) for stream, by in reported.items()}
    assert ours.keys() == theirs.keys()
    for stream, times in theirs.items():
        assert ours[stream] == pytest.approx(times, rel=0.01, abs=1)


@pytest.mark.parametrize("name", sorted(set(TRACES) - _NOT_ONLY_WORK))
def test_busy_and_idle_time_of_the_device_equal_htas(folder: Path, name: str) -> None:
    reported, row = TRACES[name]["temporal"], found_in(folder, name)[IdleTimes].overlaps
    assert us(row.idle_ns[0]) == pytest.approx(reported["idle_time(us)"], rel=0.01, abs=1)
    computing = alone_us(row, "computing", "computing_communicating", "computing_copying", "all")
    assert computing == pytest.approx(reported["compute_time(us)"], rel=0.01)
    others = alone_us(row, "communicating", "copying", "communicating_copying")
    assert others == pytest.approx(reported["non_compute_time(us)"], rel=0.07, abs=1)


@pytest.mark.parametrize("name", sorted(_NOT_ONLY_WORK))
def test_events_that_are_no_work_of_a_device_are_not_counted(folder: Path, name: str) -> None:
    """`get_temporal_breakdown` takes all events with a stream for kernels, also waits and inductor's rows."""
    reported, row = TRACES[name]["temporal"], found_in(folder, name)[IdleTimes].overlaps
    names = [each for each in Overlaps.dtypes if each.endswith("_ns")]
    assert sum(us(getattr(row, each)[0]) for each in names) <= reported["kernel_time(us)"]
    assert us(row.computing_ns[0]) == pytest.approx(reported["compute_time(us)"], rel=0.01)


def test_communication_while_computing_equals_htas(folder: Path) -> None:
    row = found_in(folder, "a100_nccl")[IdleTimes].overlaps
    both = alone_us(row, "computing_communicating", "all")
    whole = both + alone_us(row, "communicating", "communicating_copying")
    assert 100 * both / whole == pytest.approx(TRACES["a100_nccl"]["overlap"], rel=0.01)


@pytest.mark.parametrize("name", ["a100_nccl", "a100_simple_add", "v100_resnet50_num_workers_0"])
def test_launches_and_their_delays_equal_htas(folder: Path, name: str) -> None:
    reported, found = TRACES[name]["launches"], found_in(folder, name)[LaunchTimes]
    for ours in ("launches", "short", "long_calls", "delayed"):
        assert int(getattr(found.streams, ours).sum()) == reported[ours]
    assert us(found.rows.delay_ns.sum()) == pytest.approx(reported["delay"], rel=0.001)


@pytest.mark.parametrize("name", sorted(set(TRACES) - {"mi300_triton_compile"}))
def test_longest_queues_equal_htas(folder: Path, name: str) -> None:
    """Except for AMD: HTA knows only some of its launches (`get_runtime_launch_events_query`)."""
    reported: dict[str, Any] = TRACES[name]["queues"]
    rows = found_in(folder, name)[LaunchTimes].streams
    for stream, launches, most in zip(rows.stream, rows.launches, rows.most, strict=True):
        assert (2 * launches, most) == (reported[str(stream)]["count"], reported[str(stream)]["max"])
