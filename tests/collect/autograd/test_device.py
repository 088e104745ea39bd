"""GPU events of Kineto, from traces that torch.profiler wrote on GPUs, become rows of the recording."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from perfprobe import native
from perfprobe.collect.autograd.device import DeviceReader
from perfprobe.collect.autograd.kineto import Raw
from perfprobe.collect.autograd.names import Names
from perfprobe.tables.columns import Table
from perfprobe.tables.events import Losses, Threads
from perfprobe.tables.gpu import (
    ApiCalls,
    Copies,
    CopyKind,
    GpuWaits,
    Kernels,
    KinetoLaunches,
    Launches,
    MemoryKind,
)
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.analyse.test_gpu import analysed
from tests.analyse.test_gpu_traces import DIFFERENT, LINKED, STEPS, folder, published
from tests.build import TABLES, Program
from tests.collect.autograd.kineto_events import KinetoEvent, NewKinetoEvent, OldKinetoEvent, events
from tests.kineto import converted

SHIFT_NS = -5_000_000_000  # from Unix time to CLOCK_MONOTONIC
SMALL = [name for name in DIFFERENT if name not in ("v100_resnet50_num_workers_0", "a100_nccl")]
GPU_TABLES = ("kernels", "copies", "api_calls", "gpu_waits", "launches", "kineto_launches")


class ProgramRecorder:
    """Writes into a `Program` what the collector writes into a recording."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def intern_name(self, name: str, finite: bool) -> int:
        return self.program.string(name)

    def add_thread(self, os_thread: int, forward_id: int, name: int) -> int:
        return self.program.row("threads", os_thread, forward_id, name)

    def add_rows(self, table: str, columns: dict[str, array[int]]) -> None:
        for row in zip(*(columns[name] for name in TABLES[table]), strict=True):
            self.program.row(table, *row, anew=True)


def read_into(program: Program, path: Path, kind: type[KinetoEvent], parts: int = 1) -> DeviceReader:
    """Reads a trace as if this number of sessions had delivered it."""
    recorder: Any = ProgramRecorder(program)
    torch = SimpleNamespace(__file__="/torch/__init__.py", nn=SimpleNamespace(Module=object))
    reader = DeviceReader(Names(recorder, torch))
    every = list(events(path, kind))
    size = -(-len(every) // parts)
    for first in range(0, len(every), size):
        part = every[first : first + size]
        last_ns = max(event.end_ns() for event in part)
        begin, end = (0 + SHIFT_NS, 0, 1), (last_ns + SHIFT_NS, last_ns, 1)
        host, device = reader.split(part)
        assert len(host) + len(device) == len(part)
        reader.write(recorder, Raw(None, begin, end, with_stacks=False), device)
    return reader


Made = Callable[..., tuple[Recording, Recording, DeviceReader]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A trace read here with its operators; the same converted by tests/kineto.py; and the reader."""

    @cache
    def read(name: str, kind: type[KinetoEvent]) -> tuple[Recording, Recording, DeviceReader]:
        path = folder() / f"{name}.json.gz"
        if not path.is_file():
            pytest.skip(f"no {path.name} in PERFPROBE_TRACES")
        program, _ = converted(path)
        theirs = program.recording(tmp_path_factory.mktemp("theirs"))
        for row in program.operators:
            row["start_ns"] += SHIFT_NS
            row["end_ns"] += SHIFT_NS
        for table in GPU_TABLES:
            program._tables.pop(table, None)
        reader = read_into(program, path, kind, parts=3)
        return program.recording(tmp_path_factory.mktemp("ours")), theirs, reader

    return lambda name, kind=NewKinetoEvent: read(name, kind)


def reported(
    recording: Recording, table: type[Table], names: tuple[str, ...], shift_ns: int = 0
) -> list[tuple[Any, ...]]:
    """Rows of a table sorted by their values, with names for strings and OS numbers for threads."""
    rows = recording[table]
    found = []
    for name in names:
        values = np.asarray(getattr(rows, name)).tolist()
        if name == "name":
            values = [recording[Strings][value] for value in values]
        elif name == "thread":
            values = [int(recording[Threads].os_thread[value]) for value in values]
        elif name.endswith("_ns"):
            values = [value - shift_ns for value in values]
        found.append(values)
    return sorted(zip(*found, strict=True))


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, NewKinetoEvent) for name in DIFFERENT), *((name, KinetoEvent) for name in SMALL)],
)
def test_every_event_gives_the_row_of_the_trace(name: str, kind: type[KinetoEvent], made: Made) -> None:
    """Compared with a reading of the trace by other code, in one and in several sessions."""
    ours, theirs, _ = made(name, kind)
    columns_of: dict[type[Table], tuple[str, ...]] = {
        Kernels: ("start_ns", "end_ns", "device", "stream", "name", "correlation"),
        Copies: ("start_ns", "end_ns", "device", "stream", "kind", "size_bytes", "correlation"),
        ApiCalls: ("start_ns", "end_ns", "thread", "name", "correlation"),
        GpuWaits: ("start_ns", "end_ns", "kind", "correlation"),
    }
    for table, names in columns_of.items():
        assert reported(ours, table, names, SHIFT_NS) == reported(theirs, table, names)


@pytest.mark.parametrize("name", [name for name in STEPS if name in DIFFERENT])
def test_time_in_steps_is_as_published(name: str, made: Made) -> None:
    """As computed by another tool from the same trace."""
    _, found = analysed(made(name)[0])
    figures, counts = published(name)["breakdown_us"], found.step_counts
    assert round(counts.kernel_ns.mean() / 1000) == figures["Kernel"]
    assert abs(counts.copy_ns.mean() / 1000 - figures["Memcpy"] - figures["Memset"]) <= 1


@pytest.mark.parametrize("name", [name for name in LINKED if name in SMALL])
def test_kernels_and_copies_are_linked_to_their_calls(name: str, made: Made) -> None:
    assert analysed(made(name)[0])[1].unlinked == LINKED[name][1]


# Direction, source and destination, with number and bytes, counted in the traces with jq.
MOVES = {
    "v100_resnet50_num_workers_0": {(1, 1, 3): 12, (100, 0, 3): 312},
    "a100_nccl": {(8, 3, 3): 960, (100, 0, 3): 114},
    "h100_qwen_0.5b": {(2, 3, 2): 1, (100, 0, 3): 241},
    "a100_simple_add": {(1, 1, 3): 16, (100, 0, 3): 3},
}


@pytest.mark.parametrize("name", MOVES)
def test_copies_have_kinds_of_memory(name: str, made: Made) -> None:
    rows = made(name)[0][Copies]
    found: dict[tuple[int, ...], int] = {}
    for key in zip(rows.kind.tolist(), rows.source.tolist(), rows.destination.tolist(), strict=True):
        found[key] = found.get(key, 0) + 1
    assert found == MOVES[name]
    assert (CopyKind.FILL, MemoryKind.DEVICE, MemoryKind.PINNED, MemoryKind.PAGEABLE) == (100, 3, 2, 1)


def test_equal_launches_are_stored_once(made: Made) -> None:
    gpu = made("h100_bert_small")[0]
    names = ("grid_x", "block_x", "registers")
    columns = {**gpu[Launches].columns(), **gpu[KinetoLaunches].columns()}
    launches = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    assert len(set(launches)) == len(launches) < len(gpu[Kernels])
    first = int(gpu[Kernels].launch[gpu[Kernels].start_ns.argmin()])
    assert [int(getattr(gpu[Launches], name)[first]) for name in names] == [564, 128, 32]
    assert [int(column[first]) for column in gpu[KinetoLaunches].columns().values()] == [0, 27, 4_272_727]


def reasons(reader: DeviceReader) -> dict[str, int]:
    return {reason.partition(":")[0]: count for reason, count, _ in reader.losses()}


UNTOLD = "results of CUDA calls, local memory of launches, and which copies were async"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("h100_bert_small", {UNTOLD: -1, "waits for the GPU, by line": -1}),
        ("a100_event_sync", {UNTOLD: -1}),
    ],
)
def test_data_missing_in_kineto_is_a_loss(name: str, expected: dict[str, int], made: Made) -> None:
    assert reasons(made(name)[2]) == expected


def test_older_torch_versions_still_have_copies(made: Made) -> None:
    """Without metadata there are only names, and a kernel's name could be anything."""
    ours, theirs, reader = made("a100_simple_add", OldKinetoEvent)
    assert len(ours[Copies]) == len(theirs[Copies]) == 19
    assert reasons(reader)["bytes of copies and sizes of launches"] == 19


class Event:
    """An event by hand: on stream 7 of device 0, or on thread 7."""

    def __init__(
        self, name: str, kind: str, facts: dict[str, Any], times: tuple[int, int] = (100, 200), call: int = 5
    ) -> None:
        self.name, self.activity_type = (lambda: name), (lambda: kind)
        self.metadata_json = lambda: json.dumps(facts)[1:-1]
        self.start_ns, self.end_ns = (lambda: times[0]), (lambda: times[1])
        self.correlation_id = lambda: call
        self.device_index, self.device_resource_id = (lambda: 0), (lambda: 7)


@pytest.mark.parametrize(("facts", "lost"), [({}, 1), ({"graph id": 3, "graph node id": 9}, 0)])
def test_graphs_without_nodes_are_a_loss(facts: dict[str, int], lost: int) -> None:
    program = Program()
    recorder: Any = ProgramRecorder(program)
    torch = SimpleNamespace(__file__="/torch/__init__.py", nn=SimpleNamespace(Module=object))
    reader = DeviceReader(Names(recorder, torch))
    given = [Event("cudaGraphLaunch", "cuda_runtime", {"cbid": 1}), Event("add", "kernel", facts)]
    raw = Raw(None, (0, 0, 1), (1000, 1000, 1), with_stacks=False)
    reader.write(recorder, raw, reader.split(cast(Any, given))[1])
    assert reasons(reader).get("nodes of CUDA graphs", 0) == lost
    assert program._tables["kernels"][0][-2:] == (facts.get("graph id", -1), facts.get("graph node id", -1))


def test_the_wait_at_the_end_of_a_session_is_not_the_programs() -> None:
    program = Program()
    recorder: Any = ProgramRecorder(program)
    torch = SimpleNamespace(__file__="/torch/__init__.py", nn=SimpleNamespace(Module=object))
    reader = DeviceReader(Names(recorder, torch))
    raw = Raw(None, (0, 0, 1), (1000, 1000, 1), with_stacks=False, last_unix_ns=99)
    call = Event("cudaDeviceSynchronize", "cuda_runtime", {"cbid": 165})
    reader.write(recorder, raw, reader.split(cast(Any, [call]))[1])
    assert "api_calls" not in program._tables


def test_ids_of_gpu_events_and_operators_are_separate() -> None:
    """Both have ids from 1 on. A kernel's id must not be taken for an operator's."""
    reader = DeviceReader(cast(Any, None))
    operator, kernel = Event("aten::add", "cpu_op", {"Ev Idx": 0}), Event("add", "kernel", {})
    host, device = reader.split(cast(Any, [operator, kernel]))
    assert host == [operator]
    assert [(kind, event) for kind, event, _ in device] == [("kernel", kernel)]


def with_gpu(raw: Raw) -> Raw:
    """The session's events, with a launch and a kernel inside each product, with the product's id."""
    every, tree = raw.results.events(), raw.results.experimental_event_tree()
    more = []
    for event in every:
        if event.name() != "aten::mm":
            continue
        begin, number = event.start_ns(), event.correlation_id()
        facts = {"cbid": 211, "correlation": number}
        # Before the operators that the product calls.
        launch = Event("cudaLaunchKernel", "cuda_runtime", facts, (begin + 1, begin + 3), number)
        launch.device_resource_id = event.device_resource_id
        facts = {"grid": [4, 1, 1], "block": [64, 1, 1], "correlation": number, "context": 1}
        more += [launch, Event("gemm", "kernel", facts, (begin + 500, begin + 700), number)]
    raw.results = SimpleNamespace(events=lambda: [*every, *more], experimental_event_tree=lambda: tree)
    return raw


@pytest.mark.alone
def test_kernels_of_a_session_are_linked_to_its_operators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operators use the same ids. If they were mixed, a stream would be taken for an operator's thread."""
    pytest.importorskip("torch")
    from perfprobe.collect.autograd import kineto
    from perfprobe.tables import storage
    from tests.collect.recorded import record

    original = kineto.Kineto.stop
    monkeypatch.setattr(kineto.Kineto, "stop", lambda self: with_gpu(original(self)))
    reads = property(lambda self: True, lambda self, value: None)
    monkeypatch.setattr(kineto.Kineto, "reads_gpu", reads, raising=False)

    def run() -> None:
        import torch

        x = torch.ones(8, 8)
        for _ in range(5):
            x @ x

    operators = record(tmp_path / "run.perfprobe", run, operators="autograd")
    recording = storage.read(tmp_path / "run.perfprobe")
    _, found = analysed(recording)
    assert len(recording[Kernels]) == len(recording[ApiCalls]) == 5
    assert (found.unlinked, found.outside) == (0, 0)
    assert (recording[Launches].grid_x.tolist(), recording[Kernels].launch.tolist()) == ([4], [0] * 5)
    assert [recording[Strings][name] for name in found.kernels.operator.tolist()] == ["aten::mm"]
    ran = {int(recording[Threads].os_thread[row.thread]) for row in operators}
    assert ran == {threading.get_native_id()}
    assert (recording[Kernels].end_ns - recording[Kernels].start_ns).tolist() == [200] * 5
    rows = zip(recording[Losses].source, recording[Losses].reason, strict=True)
    assert UNTOLD in {reason.partition(":")[0] for source, reason in rows if source == "gpu"}


class Cuda:
    """Records its calls."""

    def __init__(self, *, initialised: bool, capturing: bool) -> None:
        self.is_initialized, self.is_current_stream_capturing = (lambda: initialised), (lambda: capturing)


@pytest.mark.parametrize(
    ("gpu", "initialised", "capturing", "wanted"),
    [
        (True, True, False, ["wait", "end"]),
        (True, True, True, ["end"]),
        (True, False, False, ["end"]),
        (False, True, False, ["end"]),
    ],
)
def test_a_session_ends_after_its_launched_work(
    gpu: bool, initialised: bool, capturing: bool, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting would break the capture of a graph or create a context; then it does not wait."""
    from perfprobe.collect.autograd import kineto

    monkeypatch.setattr(kineto, "has_gpu_driver", lambda: True)
    reported: list[str] = []
    monkeypatch.setattr(native.core(), "await_gpus", lambda _limit_ns: reported.append("wait"))
    configs: list[dict[str, bool]] = []
    profiler = SimpleNamespace(
        ProfilerActivity=SimpleNamespace(CPU=0, CUDA=1),
        ProfilerState=SimpleNamespace(KINETO=1),
        ProfilerConfig=lambda *values: values,
        _ExperimentalConfig=lambda **named: configs.append(named),
    )
    autograd = SimpleNamespace(
        _prepare_profiler=lambda *values: None,
        _enable_profiler=lambda *values: None,
        _disable_profiler=lambda: reported.append("end"),
    )
    torch: Any = SimpleNamespace(
        version=SimpleNamespace(cuda="13.0"),
        cuda=Cuda(initialised=initialised, capturing=capturing),
        _C=SimpleNamespace(_autograd=autograd, _profiler=profiler),
    )
    session = kineto.Kineto(torch, with_stack=False, memory=False, gpu=gpu)
    session.prepare()()
    raw = session.stop()
    assert reported == wanted
    assert session.reads_gpu == gpu
    assert configs[0].get("expose_kineto_event_metadata", False) == gpu
    assert raw.last_unix_ns <= raw.unix_stop_ns
