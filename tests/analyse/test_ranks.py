"""Ranks beside each other: by hand, with clocks apart, and a run of torchrun with a planted straggler."""

from __future__ import annotations

import cProfile
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.analyse.ranks.parts import clipped, union
from perfprobe.models.message import message_of, message_text
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.scopes import USER_SCOPE
from tests.analyse.test_gpu_traces import folder
from tests.build import Program, op
from tests.collect.runs import command
from tests.read.test_kineto import operator, span, written
from tests.snapshots import Snapshot, masked

MS = 1_000_000
STEPS, STEP_NS = 4, 100 * MS
BYTES = 4 * 1000 * 1000
# When each rank asks for the collective, of its step; all get the result at 90 ms.
ASKS_NS = (20 * MS, 70 * MS)
END_NS = 90 * MS


def rank(
    number: int, clock_ns: int = 0, host: str = "node", *, sampled: bool = True, twice: bool = False
) -> Program:
    """Operators until it asks for an all_reduce of 4 MB, which ends at 90 ms of each step.

    twice: it asks for another one at the same time, before the first has ended; rank 1 2 ms later.
    """
    whole_ns = STEPS * STEP_NS
    program = Program(
        program={"argv": ["train.py"], "cwd": "/p", "pid": 1001},
        host={"name": host},
        rank={"rank": number, "local_rank": number, "world_size": 2},
        start={"monotonic_ns": clock_ns, "cpu_ns": 0},
        stop={"monotonic_ns": clock_ns + whole_ns, "cpu_ns": whole_ns},
    )
    for forward_id in (1, 2):
        program.thread(forward_id)
    slow = program.stack("/p/train.py:20 main", "/p/data.py:7 load")
    inputs = program.signature("f32[1000,1000]")
    for step in range(STEPS):
        at_ns = clock_ns + step * STEP_NS
        asks_ns = at_ns + ASKS_NS[number]
        sort = op("aten::sort", at_ns + MS, asks_ns, stack=slow)
        if sampled:
            program.sample(at_ns, asks_ns, "/p/train.py:20 main", "/p/data.py:7 load")
            program.sample(asks_ns, at_ns + STEP_NS, "/p/train.py:21 main")
        program.run(op(f"ProfilerStep#{step}", at_ns, at_ns + STEP_NS, sort, scope=USER_SCOPE))
        program.run(
            op("gloo:all_reduce", asks_ns, at_ns + END_NS, scope=USER_SCOPE, signature=inputs), thread=1
        )
        if twice:
            again = op("gloo:all_gather", asks_ns + 2 * MS * number, at_ns + END_NS, scope=USER_SCOPE)
            program.run(again, thread=0)
    return program


def compared(ranks: list[Program], where: Path) -> dict[str, list[dict[str, Any]]]:
    for number, program in enumerate(ranks):
        (where / f"r{number}.perfprobe").write_bytes(program.encode())
    outcome = command(["report", str(where), "--view", "ranks", "--json"], where)
    assert outcome.status == 0, outcome
    tables: dict[str, list[dict[str, Any]]] = json.loads(outcome.out)["tables"]
    return tables


@pytest.mark.parametrize("clock_ns", [0, 12_345 * MS])
def test_the_straggler_and_the_waiting(clock_ns: int, tmp_path: Path) -> None:
    """By hand: rank 0 asks 50 ms before rank 1, so it waits 50 ms in each of 4 steps."""
    hosts = ("node", "node") if clock_ns == 0 else ("node", "other")
    found = compared([rank(0, host=hosts[0]), rank(1, clock_ns, hosts[1])], tmp_path)
    first, second = found["ranks"]
    assert [row["is_straggler"] for row in (first, second)] == [False, True]
    assert (first["waited_ns"], second["waited_ns"]) == (STEPS * 50 * MS, 0)
    assert (first["lost_ns"], second["lost_ns"]) == (0, STEPS * 50 * MS)
    assert {row["transfer_ns"] for row in (first, second)} == {STEPS * 20 * MS}
    assert (second["clock_ns"], second["clock_error_ns"]) == (clock_ns, 0)
    assert second["line"] == "/p/data.py:7"
    assert second["line_ns"] == 50 * MS
    assert second["phase"] is None  # in all ranks all of the step is one phase
    parts = ("computing_ns", "overlapped_ns", "communicating_ns", "other_ns")
    assert [first[name] // STEPS for name in parts] == [19 * MS, 0, 70 * MS, 11 * MS]
    assert [second[name] // STEPS for name in parts] == [69 * MS, 0, 20 * MS, 11 * MS]
    (kind,) = found["collectives"]
    assert (kind["name"], kind["calls"], kind["size_bytes"]) == ("gloo:all_reduce", STEPS, STEPS * BYTES)
    assert kind["total_ns"] == STEPS * 45 * MS
    # 2 (n - 1) / n of 4 MB in 20 ms, n = 2
    assert kind["bus_bytes_per_second"] == pytest.approx(BYTES / 0.020)


@pytest.mark.parametrize(("more_ms", "line"), [(3, None), (9, "/lib/weakref.py:590")])
def test_a_line_with_less_than_a_hundredth_is_not_named(
    more_ms: int, line: str | None, tmp_path: Path
) -> None:
    """Rank 0 also runs a finalizer in its last step, where rank 1 shows the same line for longer."""
    first = rank(0)
    end_ns = STEPS * STEP_NS
    first.sample(end_ns - more_ms * MS, end_ns, "/lib/weakref.py:590 finalize")
    found = compared([first, rank(1)], tmp_path)
    assert found["ranks"][0]["line"] == line


def test_collectives_that_overlap_are_waited_for_once(tmp_path: Path) -> None:
    """Rank 0 waits from 20 to 70 ms for the first, from 20 to 72 for the second: 52 ms in each step."""
    found = compared([rank(0, twice=True), rank(1, twice=True)], tmp_path)
    assert [row["lost_ns"] for row in found["ranks"]] == [0, STEPS * 52 * MS]


def of_ranks(text: str) -> str:
    """The lines of first screens that compare ranks, and the next commands."""
    return "\n".join(line for line in text.splitlines() if re.match("RANKS|NEXT|        .*waited", line))


def test_the_same_in_words(tmp_path: Path, snapshot: Snapshot) -> None:
    compared([rank(0), rank(1)], tmp_path)
    text = command(["report", str(tmp_path), "--view", "ranks"], tmp_path).out.decode()
    snapshot(masked(text, folder=tmp_path))


def test_the_first_screen_of_each_names_the_straggler(tmp_path: Path, snapshot: Snapshot) -> None:
    compared([rank(0), rank(1)], tmp_path)
    text = command(["report", "r0.perfprobe", "r1.perfprobe"], tmp_path).out.decode()
    alone = command(["report", "r0.perfprobe"], tmp_path).out.decode()
    snapshot(beside=of_ranks(text), alone=of_ranks(alone))


def test_without_samples_the_line_is_that_of_operators(tmp_path: Path) -> None:
    """As in traces. The operator at the line ends when the collective begins, 50 ms later in rank 1."""
    second = compared([rank(number, sampled=False) for number in (0, 1)], tmp_path)["ranks"][1]
    assert (second["line"], second["line_ns"]) == ("/p/data.py:7", 50 * MS)


def test_files_that_are_not_ranks_of_one_run_are_not_compared(tmp_path: Path) -> None:
    compared([rank(0), rank(0)], tmp_path)  # the same rank twice: of two runs
    text = command(["report", "r0.perfprobe", "r1.perfprobe"], tmp_path).out.decode()
    assert "straggler" not in text


def test_one_rank_says_that_others_are_missing(tmp_path: Path, snapshot: Snapshot) -> None:
    (row,) = compared([rank(1)], tmp_path)["ranks"]
    assert (row["waited_ns"], row["lost_ns"], row["is_straggler"]) == (None, None, False)
    snapshot(Results(str(tmp_path / "r0.perfprobe")).text(View(view="ranks")))


def test_equal_ranks_have_no_straggler(tmp_path: Path) -> None:
    found = compared([rank(0), rank(0)], tmp_path)
    assert not any(row["is_straggler"] for row in found["ranks"])
    assert {row["waited_ns"] for row in found["ranks"]} == {0}


def test_calls_that_one_rank_has_not_are_left_out(tmp_path: Path) -> None:
    more = rank(1)
    at_ns = STEPS * STEP_NS
    more.run(op("gloo:all_reduce", at_ns, at_ns + MS, scope=USER_SCOPE), thread=1)
    (kind,) = compared([rank(0), more], tmp_path)["collectives"]
    assert kind["calls"] == STEPS


def test_what_has_no_ranks_is_one_line(tmp_path: Path) -> None:
    cProfile.Profile().dump_stats(tmp_path / "old.prof")
    (tmp_path / "empty.perfprobe").write_bytes(Program().encode())
    outcome = command(["report", "old.prof", "--view", "ranks"], tmp_path)
    assert (outcome.status, len(outcome.said)) == (3, 1)
    outcome = command(["report", "empty.perfprobe", "empty.perfprobe", "--view", "ranks"], tmp_path)
    assert (outcome.status, b"No straggler" in outcome.out) == (0, True)


def test_unions_against_a_count_of_each_moment() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        starts = rng.integers(0, 60, 12)
        spans = np.stack([starts, starts + rng.integers(0, 9, 12)])
        busy = np.zeros(80, bool)
        for start, end in spans.T:
            busy[start:end] = True
        found = clipped(union(spans), 10, 50)
        assert int((found[1] - found[0]).sum()) == int(busy[10:50].sum())


def test_one_rank_of_a_real_trace() -> None:
    path = folder() / "a100_nccl.json.gz"
    if not path.is_file():
        pytest.skip(f"no {path.name} in PERFPROBE_TRACES")
    document = Results(str(path)).document(View(view="ranks"))
    (row,) = document["tables"]["ranks"]
    assert (row["rank"], row["steps"]) == (0, 3)
    calls = {kind["name"]: kind["calls"] for kind in document["tables"]["collectives"]}
    assert calls == {"nccl:all_reduce": 15, "nccl:broadcast": 6}  # counted in the trace
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    sent = [event["args"] for event in events if event["name"] == "record_param_comms"]
    reduced = sum(args["In msg nelems"] for args in sent if args["Collective name"] == "allreduce")
    sizes = {kind["name"]: kind["size_bytes"] for kind in document["tables"]["collectives"]}
    assert sizes["nccl:all_reduce"] == 4 * reduced  # all of them floats
    assert "1 of 2" in Results(str(path)).text(View(view="ranks"))


def sending(number: int) -> list[dict[str, Any]]:
    """A trace without shapes: in each of 2 steps 1 ms of all_reduce in a group of 2, 2 ms in one of 8."""
    events: list[dict[str, Any]] = []
    for step in range(2):
        at = step * 10_000.0
        events.append(span(f"ProfilerStep#{step}", at, 9_999, "user_annotation"))
        for begin, group, size, length in ((1_000, "0", 8, 2_000), (5_000, "tp", 2, 1_000)):
            facts = {"In msg nelems": 1_000_000, "dtype": "BFloat16", "Collective name": "allreduce"}
            facts |= {"Process Group Name": group, "Group size": size}
            events.append(operator("record_param_comms", at + begin, length + 2, **facts))
            events.append(span("nccl:all_reduce", at + begin + 1, length, "user_annotation"))
    return events


def test_messages_and_groups_of_traces_without_shapes(tmp_path: Path) -> None:
    """By hand: 2 MB in bf16 a call; an all_reduce in a group of n sends 2 (n - 1) / n of that."""
    for number in (0, 1):
        about = {"distributedInfo": {"rank": number, "world_size": 8}}
        written(tmp_path / f"r{number}.pt.trace.json", sending(number), **about)
    outcome = command(["report", str(tmp_path), "--view", "ranks", "--json"], tmp_path)
    kinds = {kind["group"]: kind for kind in json.loads(outcome.out)["tables"]["collectives"]}
    assert {group: kind["calls"] for group, kind in kinds.items()} == {"0": 2, "tp": 2}
    assert {kind["size_bytes"] for kind in kinds.values()} == {2 * 2_000_000}
    assert kinds["0"]["bus_bytes_per_second"] == pytest.approx(2e6 * 2 * 7 / 8 / 0.002)
    assert kinds["tp"]["bus_bytes_per_second"] == pytest.approx(2e6 * 2 * 1 / 2 / 0.001)


@pytest.mark.parametrize("facts", [("many", "Float"), (-1, "Float"), (None, None), (True, 3)])
def test_a_message_of_no_size_is_none(facts: tuple[object, object]) -> None:
    assert message_text(*facts, "0", 2) is None


def test_a_message_of_an_unknown_type_has_no_size() -> None:
    text = message_text(10, "Float128", 'a "b"', 2)
    assert text is not None
    assert (message_of(text).size_bytes, message_of(text).group_size) == (-1, 2)


PLANTED = """
import time
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def load():
    if dist.get_rank() == 1:
        end = time.perf_counter() + 0.15
        while time.perf_counter() < end:
            torch.randn(64, 64).sort()  # planted
    return torch.ones(32, 64)

def train():
    for _ in range(6):
        optimizer.zero_grad()
        model(load()).sum().backward()
        optimizer.step()

train()
dist.destroy_process_group()
"""


def test_a_planted_straggler_under_torchrun(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(PLANTED)
    words = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    words += ["--local-addr", "127.0.0.1", "-m", "perfprobe", "-q", "train.py"]
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        words, check=False, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=240
    )
    assert run.returncode == 0, run.stderr
    outcome = command(["report", ".", "--view", "ranks", "--json"], tmp_path)
    first, second = json.loads(outcome.out)["tables"]["ranks"]
    assert (first["rank"], second["rank"], second["is_straggler"]) == (0, 1, True)
    file, _, line = second["line"].rpartition(":")
    planted = next(at for at, text in enumerate(PLANTED.splitlines(), 1) if "# planted" in text)
    assert (Path(file).name, int(line)) == ("train.py", planted)
    assert first["waited_ns"] > 3 * second["waited_ns"]
    screens = command(["report", "."], tmp_path).out.decode()
    assert screens.count(f"rank 1 at train.py:{planted} in load") == 2
