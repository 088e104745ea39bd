"""Small traces that could cost much: heads, tails, parts, damaged events, and many events of one kind."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.merge.backward import Calls, Room
from perfprobe.models.nodes import NodeKind
from perfprobe.read import kineto
from perfprobe.read.kineto import about, chunks, names
from perfprobe.read.kineto.arrows import Arrows
from perfprobe.read.kineto.chunks import Chunks
from perfprobe.results import Results
from perfprobe.support.errors import InputError
from perfprobe.support.view import View
from perfprobe.tables.events import Losses, Threads
from perfprobe.tables.gpu import Kernels
from perfprobe.tables.stacks import DEEPEST_MODULES, Modules, depths
from tests.read import shapes
from tests.read.shapes import span
from tests.read.test_kineto import written
from tests.snapshots import Snapshot

MIB = 1 << 20
_ONE = json.dumps(span("aten::mm", 1)).encode()
_SMALLEST_ALLOCATION = b'{"ph":"i","name":"[memory]","tid":1,"ts":1,"args":{"Bytes":1,"Addr":1}}'


def nodes(value: Any) -> int:
    """Values and keys, counted by walking."""
    if isinstance(value, dict):
        return 1 + sum(1 + nodes(each) for each in value.values())
    return 1 + sum(map(nodes, value)) if isinstance(value, list) else 1


def test_values_are_counted_without_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(about, "_PIECE_BYTES", 7)  # strings go on from one piece to the next
    rng = random.Random(1)
    texts = ["", "a,b", '"', '\\"', "\\", "{[:", "x\\\\"]

    def value(depth: int) -> Any:
        kind = rng.randrange(5) if depth else rng.randrange(3)
        if kind == 3:
            return [value(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 4:
            return {rng.choice(texts) + str(at): value(depth - 1) for at in range(rng.randrange(4))}
        return (rng.choice(texts), 7, None)[kind]

    for _ in range(300):
        made = value(4)
        found = about.values_in(json.dumps(made).encode())
        assert nodes(made) <= found <= 2 * nodes(made) + 1


@pytest.mark.parametrize("name", ["before", "behind"])
def test_entries_with_many_values_are_not_decoded(tmp_path: Path, name: str, snapshot: Snapshot) -> None:
    many = b'"a":[' + b"[]," * (2 << 20) + b"0]"
    whole = {"before": b"{%s,%s}", "behind": b"{%s,%s}"}[name]
    listed = b'"traceEvents":[%s]' % _ONE
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(whole % ((many, listed) if name == "before" else (listed, many)), 1))
    if name == "before":
        with pytest.raises(InputError, match="too much comes before its list") as raised:
            kineto.read(path)
        assert "\n" not in str(raised.value)
    else:
        reasons = kineto.read(path)[Losses].reason.tolist()
        snapshot("\n".join(sorted(reasons)))


def test_a_trace_is_read_up_to_a_size(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents":[%s%s]}' % (_ONE, b" " * (5 * MIB)), 1))
    assert kineto.read(path).operator_rows == 1
    with pytest.raises(InputError, match=r"larger than 3.00 MiB when expanded.*--largest"):
        Results(str(path), (), 3 * MIB).text(View())


def test_a_part_has_a_limited_number_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = b",".join([b"{}"] * 1000 + [_ONE] * 50 + [b"{}"] * 1000)
    monkeypatch.setattr(chunks, "MOST_BRACES", 64)
    parts = list(Chunks(io.BytesIO(b'{"traceEvents":[%s]}' % listed), "name"))
    assert max(map(len, parts)) <= 64
    assert sum(map(len, parts)) == 2050
    assert sum(int(part.equals("ph", "X").sum()) for part in parts) == 50


@pytest.mark.parametrize(
    "event", [b'{"b":[{}', b'{"b":[{},' * 900 + b"X", rb'{"a":"\"},{"'], ids=["open", "deep", "text"]
)
def test_reading_ends_where_most_events_are_damaged(event: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "_MOST_WASTED", 1 << 16)
    listed = b",".join([_ONE, *[event] * (MIB // len(event))])
    found = Chunks(io.BytesIO(b'{"traceEvents":[%s]}' % listed), "name")
    assert sum(map(len, found)) >= 1
    assert found.stopped is not None
    assert found.damaged < 20_000


def test_arrows_at_one_time_look_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, plain = [], Arrows._row

    def counted(self: Arrows, *given: Any, **more: Any) -> int | None:
        looks.append(given)
        return plain(self, *given, **more)

    monkeypatch.setattr(Arrows, "_row", counted)
    kineto.read(written(tmp_path / "trace.json", shapes.events("arrows at one time", 200)))
    assert len(looks) == 2


def test_threads_that_called_forward_are_those_with_most_numbers(tmp_path: Path) -> None:
    rng = random.Random(2)
    events, wanted, called = [], dict[int, set[int]](), dict[int, set[int]]()
    for at in range(600):
        number, forward, thread = rng.randrange(90), rng.randrange(1, 5), rng.randrange(4)
        if rng.random() < 0.5:
            called.setdefault(thread, set()).add(number)
            events.append(span("aten::mm", 10 * at, tid=thread, Sequence_number=number))
        elif number % 4 == forward - 1:
            wanted.setdefault(forward, set()).add(number)
            facts: shapes.Event = {"Sequence_number": number, "Fwd_thread_id": forward}
            events.append(span("MmBackward0", 10 * at, tid=77, **facts))
    threads = kineto.read(written(tmp_path / "trace.json", events))[Threads]
    forward_of = dict(zip(threads.forward_id.tolist(), threads.os_thread.tolist(), strict=True))
    for forward, thread in forward_of.items():
        if forward > 0:
            shared = {each: len(wanted[forward] & found) for each, found in called.items()}
            assert shared[thread] == max(shared.values())
    assert any(forward > 0 for forward in forward_of)


def test_later_nodes_belong_to_the_last_call_before_them() -> None:
    rng = np.random.default_rng(3)
    calls = Calls(0, Room(6000))
    calls._reserve(6000)
    calls.stack[:] = np.where(rng.random(6000) < 0.01, rng.integers(1, 50, 6000), 0)
    calls.stack[500:5500] = 0  # more than any operator makes
    calls.node[:] = np.where(rng.random(6000) < 0.3, NodeKind.ONE_OF_SEVERAL, 0)
    before = calls.stack.tolist()
    calls.settle()
    for at in np.flatnonzero(calls.node).tolist():
        below = [each for each in range(max(at - 4096, 0), at + 1) if before[each]]
        assert calls.stack[at] == (before[below[-1]] if below else 0)


def test_all_threads_share_the_room_for_numbers() -> None:
    room = Room(1000)
    all_calls = [Calls(0, room) for _ in range(9)]
    for calls in all_calls:
        kinds = np.array([NodeKind.ONLY_ONE] * 2, np.int8)
        calls.refer(np.array([0, 400], np.int64), kinds, np.zeros(2, np.int64))
    assert sum(len(calls.stack) for calls in all_calls) <= 1000
    assert room.numbers >= 0


def test_modules_are_nested_to_a_depth(tmp_path: Path) -> None:
    events = shapes.events("modules within each other", 600)
    recording = kineto.read(written(tmp_path / "trace.json", events))
    assert len(recording[Modules]) == 600
    assert int(depths(recording[Modules].parent).max()) == DEEPEST_MODULES - 1


def test_devices_beyond_the_limit_are_a_loss(tmp_path: Path) -> None:
    recording = kineto.read(written(tmp_path / "trace.json", shapes.events("devices", 300)))
    assert recording[Kernels].device.tolist() == [*range(256), *[-1] * 44]
    found = dict(zip(recording[Losses].reason, recording[Losses].count, strict=True))
    assert [count for reason, count in found.items() if "below 256" in reason] == [44]


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_each_shape_is_reported(tmp_path: Path, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "MOST_THREADS", 20)  # findings are made thread by thread
    path = written(tmp_path / "trace.json", shapes.events(shape, 60))
    results = Results(str(path))
    assert results.text(View())
    assert results.document(View())["tables"]


@pytest.mark.parametrize(
    ("name", "before", "each"),
    [
        ("head", b'{"a":[', b"[],"),
        ("empty", b'{"traceEvents":[' + _ONE, b",{}"),
        ("equal", b'{"traceEvents":[' + _ONE, b"," + _ONE),
        ("keys", b'{"traceEvents":[' + _ONE, b',{"p\\u0068":"X"}'),
        ("kernels", b'{"traceEvents":[' + _ONE, b',{"ph":"X","cat":"kernel","ts":1,"dur":1}'),
        ("memory", b'{"traceEvents":[' + _ONE, b"," + _SMALLEST_ALLOCATION),
    ],
)
def test_the_peak_of_memory_is_in_proportion(
    tmp_path: Path, base_bytes: int, name: str, before: bytes, each: bytes
) -> None:
    size_bytes, room_bytes = (4 * MIB, 64 * MIB) if name == "keys" else (12 * MIB, 40 * MIB)
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(before + each * (size_bytes // len(each)) + b"]}", 1))
    assert peak_bytes(path) - base_bytes < room_bytes + 4 * size_bytes


def test_the_peak_of_memory_is_in_proportion_to_nested_modules(tmp_path: Path, base_bytes: int) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(shapes.text(shapes.events("modules within each other", 20_000)))
    assert peak_bytes(path) - base_bytes < 40 * MIB + 4 * path.stat().st_size


@pytest.mark.parametrize("shape", ["names", "call stacks"])
def test_the_peak_of_memory_is_in_proportion_to_different_events(
    tmp_path: Path, base_bytes: int, shape: str
) -> None:
    events = shapes.events(shape, 50_000)
    path = tmp_path / "trace.json"
    path.write_bytes(shapes.text(events))
    assert peak_bytes(path) - base_bytes < 40 * MIB + 500 * len(events)


@pytest.fixture(scope="module")
def base_bytes(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The peak of a report's memory for one event."""
    alone = tmp_path_factory.mktemp("alone") / "alone.json"
    alone.write_bytes(b'{"traceEvents":[%s]}' % _ONE)
    base = shapes.cost(alone)
    assert base is not None
    return base.peak_bytes


def peak_bytes(path: Path) -> int:
    """The peak of a report's memory."""
    found = shapes.cost(path)
    assert found is not None
    return found.peak_bytes
