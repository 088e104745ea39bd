"""Checks that kernels, copies and waits have the operators, lines and threads that caused them."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from typing import Any

import numpy as np

from perfprobe.tables import storage
from perfprobe.tables.events import Threads
from perfprobe.tables.gpu import ApiCalls, ExternalIds, Kernels
from perfprobe.tables.strings import Strings
from tests.gpu import recorded
from tests.gpu.child import Room, expect
from tests.gpu.recorded import Seen
from tests.gpu.result import Skip

# From this version of CUPTI on, launches of graphs have correct ids in later sessions too.
_RIGHT_NUMBERS = 130101


def lines(room: Room) -> None:
    """Every kernel of forward and backward, the copy and the wait have the program's marked lines."""
    judge_lines(recorded.record(room, "lines"), room)


def judge_lines(seen: Seen, room: Room) -> None:
    """Compares with the truth's marks: matrix products and softmax; both phases have the forward line."""
    marks, found = seen.truth["marks"], sites(seen)
    room.note(
        rows=[
            f"{row['operator']} line {row['line']} forward {row['forward']} x{row['count']}" for row in found
        ]
    )
    linked = sum(row["count"] for row in found if row["operator"])
    total = len(seen.recording[Kernels])
    room.note(linked=f"{linked} of {total} kernels under an operator")
    for operator, mark in (("aten::mm", "MATMUL"), ("aten::_softmax", "SOFTMAX")):
        rows = [row for row in found if row["operator"] == operator]
        there = any(row["line"] == marks[mark] for row in rows)
        expect(there, f"{operator} on {rows}, not on line {marks[mark]}")
    backward = [row for row in found if row["operator"] == "aten::_softmax_backward_data"]
    fits = any(marks["SOFTMAX"] in (row["forward"], row["line"]) for row in backward)
    expect(fits, f"softmax's backward on {backward}, not on line {marks['SOFTMAX']}")
    expect(linked == total, f"{total - linked} kernels are under no operator")
    waits = call_lines(seen, "wait_call", "waits")
    room.note(copies=call_lines(seen, "copy_call", "copies"), waits=waits)
    expect(marks["COPY"] in call_lines(seen, "copy_call", "copies"), "the copy is not on its line")
    expect(marks["WAIT"] in waits, "the wait is not on its line")


def sites(seen: Seen) -> list[dict[str, Any]]:
    """Kernels by operator, line and forward line; an empty operator means none."""
    trace = seen.trace()
    expect(trace.gpu is not None, "the trace has no links of GPUs")
    assert trace.gpu is not None
    where, strings = trace.gpu.sites, seen.recording[Strings]
    counted: Counter[tuple[str, int, int]] = Counter()
    for call in trace.gpu.kernel_call.tolist():
        name, frame, forward = (
            (int(where.name[call]), int(where.frame[call]), int(where.forward_frame[call]))
            if call >= 0
            else (-1, -1, -1)
        )
        line, forward_line = trace.line(frame), trace.line(forward)
        operator = strings[name] if name >= 0 else ""
        counted[operator, line.line if line else -1, forward_line.line if forward_line else -1] += 1
    keys = ("operator", "line", "forward")
    return [{**dict(zip(keys, key, strict=True)), "count": count} for key, count in counted.items()]


def call_lines(seen: Seen, column: str, table: str) -> dict[int, int]:
    """The number of rows of a table by line, -1 if not known."""
    trace = seen.trace()
    assert trace.gpu is not None
    counted: Counter[int] = Counter()
    for call in getattr(trace.gpu, column).tolist():
        line = trace.line(int(trace.gpu.sites.frame[call])) if call >= 0 else None
        counted[line.line if line else -1] += 1
    return dict(counted)


def thread_ids(room: Room) -> None:
    """The thread of an API record is that of gettid."""
    judge_threads(recorded.record(room, "threads"), room)


def judge_threads(seen: Seen, room: Room) -> None:
    """Each thread has as many launches as it made."""
    rows = seen.calls("cudaLaunchKernel")
    os_thread = np.append(seen.recording[Threads].os_thread, -1)
    counted = Counter(os_thread[rows["thread"]].tolist())
    expected = {int(thread): count for thread, count in seen.truth["launches"].items()}
    room.note(by_thread=dict(counted), expected=expected, main=seen.truth["main"])
    for thread, count in expected.items():
        expect(
            counted[thread] == count, f"thread {thread}: {counted[thread]} launches recorded, {count} made"
        )


def external_ids(room: Room) -> None:
    """`--gpu-links exact`: pushed ids arrive, and give the same operators as containment."""
    by_time = recorded.record(room, "lines")
    exact = recorded.record(room, "training", "--gpu-links", "exact")
    ids, calls = exact.recording[ExternalIds], exact.recording[ApiCalls]
    known = int(np.isin(ids.correlation, calls.correlation).sum())
    # Not all: version queries are left out of the recording, but their ids are not.
    room.note(external_ids=len(ids), of_recorded_calls=known)
    expect(len(ids) > 0, "no external id arrived")
    expect(known > 0, f"{len(ids)} ids belong to no recorded call")
    again = recorded.record(room, "lines", "--gpu-links", "exact")
    both = [sorted(map(str, sites(seen))) for seen in (by_time, again)]
    room.note(by_time=both[0], exact=both[1])
    expect(both[0] == both[1], "exact links and containment disagree")


def triton(room: Room) -> None:
    """Triton launches through the driver's API: its kernels are linked and have their line."""
    if find_spec("triton") is None:
        raise Skip("no triton here")
    seen = recorded.record(room, "triton")
    kernels = seen.kernels("add_one")
    trace = seen.trace()
    assert trace.gpu is not None
    calls = trace.gpu.kernel_call[kernels["row"]]
    names = Counter(
        seen.recording[Strings][seen.recording[ApiCalls].name[call]] for call in calls[calls >= 0]
    )
    room.note(kernels=len(calls), launched_by=dict(names), unlinked=int((calls < 0).sum()))
    expect(len(calls) == seen.truth["launches"], f"{len(calls)} kernels recorded, 7 ran")
    expect((calls >= 0).all(), f"{(calls < 0).sum()} kernels have no launch")
    there = {"operator": "triton::add_one", "line": seen.truth["marks"]["TRITON"], "forward": -1, "count": 7}
    expect(there in sites(seen), f"not {there}, but {sites(seen)}")


def graph_replay(room: Room) -> None:
    """Kernels of a CUDA graph have its launch's correlation id and their node, and the replay's line."""
    seen = recorded.record(room, "graph")
    judge_graph(seen, seen.truth["replays"], seen.truth["nodes"], room)
    replayed = seen.truth["replays"] * seen.truth["nodes"]
    found = call_lines(seen, "kernel_call", "kernels").get(seen.truth["marks"]["REPLAY"], 0)
    expect(found == replayed, f"{found} of {replayed} kernels of the graph are on the line of the replay")


def judge_graph(seen: Seen, replays: int, nodes: int, room: Room) -> None:
    """Every replay has all its nodes, under one cudaGraphLaunch call."""
    rows = recorded.columns(seen.recording[Kernels])
    of_graph = rows["graph"] >= 0
    launches = set(seen.calls("cudaGraphLaunch")["correlation"].tolist())
    linked = [correlation in launches for correlation in rows["correlation"][of_graph].tolist()]
    apart = set(
        zip(rows["correlation"][of_graph].tolist(), rows["graph_node"][of_graph].tolist(), strict=True)
    )
    room.note(
        graph_kernels=f"{of_graph.sum()} of {replays * nodes}",
        launches=f"{len(launches)} of {replays}",
        linked=f"{sum(linked)}",
        node_ids=len(set(rows["graph_node"][of_graph].tolist())),
        untimed=int((rows["start_ns"][of_graph] <= 0).sum()),
    )
    expect(int(of_graph.sum()) == replays * nodes, f"{of_graph.sum()} graph kernels, {replays * nodes} ran")
    expect(len(launches) == replays, f"{len(launches)} graph launches, {replays} made")
    expect(all(linked), f"{len(linked) - sum(linked)} graph kernels have no launch")
    expect(len(apart) == replays * nodes, "the nodes of a launch cannot be distinguished")


def second_session(room: Room) -> None:
    """A second recording in the same process delivers the same as the first, including graph launches."""
    judge_sessions(room, captured="in session 1")


def graph_before_session(room: Room) -> None:
    """The same with a graph captured before the first recording."""
    judge_sessions(room, captured="before")


def judge_sessions(room: Room, captured: str) -> None:
    """Both sessions have all spins and all nodes of the graph."""
    paths = [room.folder / f"session{number}.perfprobe" for number in (1, 2)]
    truth = recorded.alone(room, "sessions", *map(str, paths), captured)
    for number, path in enumerate(paths, 1):
        expect(path.exists(), f"session {number} wrote nothing")
        seen = Seen(storage.read(path), truth)
        spins = len(seen.kernels("perfprobe_spin")["row"])
        room.note(**{f"session {number}": f"{spins} of {truth['spins']} spins, losses {seen.losses()}"})
        expect(spins == truth["spins"], f"session {number}: {spins} spins recorded")
        if number > 1 and seen.recording.fact("gpu", "cupti_version") < _RIGHT_NUMBERS:
            judge_wrong_numbers(*graph_links(seen), truth["replays"] * truth["nodes"], room)
        else:
            judge_graph(seen, truth["replays"], truth["nodes"], room)


def graph_links(seen: Seen) -> tuple[int, int, int]:
    """Kernels of graphs: their number, those with a call, and those whose call launched no graph."""
    trace = seen.trace()
    assert trace.gpu is not None
    of_graph = recorded.columns(seen.recording[Kernels])["graph"] >= 0
    calls = trace.gpu.kernel_call[of_graph]
    wrong = ~trace.gpu.graph_launch[calls[calls >= 0]]
    return int(of_graph.sum()), int((calls >= 0).sum()), int(wrong.sum())


def judge_wrong_numbers(found: int, linked: int, wrong: int, nodes: int, room: Room) -> None:
    """If CUPTI numbers graph launches wrongly: all nodes exist, and none is under a call of another kind."""
    room.note(known_fault=f"{found} of {nodes} nodes, {linked} linked, {wrong} wrongly")
    expect(found == nodes, f"{found} graph kernels, {nodes} ran")
    expect(not wrong, f"{wrong} kernels of graphs are under calls that launched none")
