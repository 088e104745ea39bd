"""Sums over a DataLoader's workers, compared with hand counts and a brute-force count of their lifetimes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.analyse.worker_findings import worker_findings
from perfprobe.analyse.worker_samples import Parts, parts_of
from perfprobe.merge import link
from perfprobe.tables.columns import TEXT
from perfprobe.tables.trace import Line, Trace
from perfprobe.tables.workers import ChildKind, LoaderWaits, StartMethod, WorkerFindings, Workers
from tests.build import Program, op
from tests.found import find

FETCH, PIN = (f"/x/torch/utils/data/_utils/{name}.py" for name in ("fetch", "pin_memory"))
NEXT = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def worker(begun_ns: int, until_ns: int, **given: Any) -> dict[str, Any]:
    """A DataLoader's worker that is ready 10 ns after its start."""
    moments = {"forked_ns": begun_ns, "started_ns": begun_ns + 5, "ready_ns": begun_ns + 10}
    return {
        **{"processes": 1, "ended": 1, "process": begun_ns, "parent": 1, "kind": ChildKind.LOADER},
        **{"method": StartMethod.FORK, "detail": 0, "name": "Images", "worker": 0, "workers": 2},
        **{**moments, "last_ns": until_ns, "cpu_ns": 7, "batches": 1, "waiting_ns": 3, "dataset_ns": 40},
        **{"collate_ns": 6, "put_ns": 4, "send_ns": 5, "queued": 2, "queued_most": 2, "queued_looks": 1},
        **{"private_first_bytes": 100, "private_bytes": 160},
        **given,
    }


def table(*rows: dict[str, Any]) -> Workers:
    columns = {name: [row[name] for row in rows] for name in Workers.dtypes}
    made = {name: np.array([*values, None], TEXT)[:-1] for name, values in columns.items()}
    return Workers(**{name: column.astype(Workers.dtypes[name]) for name, column in made.items()})


def waits(*times_ns: tuple[int, int]) -> LoaderWaits:
    start_ns, end_ns = (np.array(column, np.int64) for column in zip(*times_ns, strict=True))
    return LoaderWaits(start_ns, end_ns)


def trace(folder: Path, program: Program | None = None) -> Trace:
    made = Program() if program is None else program
    return link(made.recording(folder))


def found(folder: Path, workers: Workers, waited: LoaderWaits | None, **parts: Parts) -> WorkerFindings:
    result = worker_findings(
        trace(folder), workers, waited, {int(name[1:]): part for name, part in parts.items()}
    )
    assert result is not None
    return result


def one(values: Any) -> int:
    (value,) = values.tolist()
    return int(value)


def test_sums_of_a_loader_by_hand(tmp_path: Path) -> None:
    workers = table(worker(100, 200), worker(110, 220, worker=1, ended=0, queued_most=5), worker(400, 500))
    loaders = found(tmp_path, workers, waits((90, 115), (150, 230), (450, 470))).loaders
    assert loaders.name.tolist() == ["Images"]
    assert one(loaders.processes) == 3
    assert one(loaders.incomplete) == 1
    assert one(loaders.start_up_ns) == 10
    assert one(loaders.span_ns) == 120 + 100
    assert one(loaders.busy_ns) == 3 * (40 + 6 + 4)
    assert one(loaders.waited_ns) == 15 + 70 + 20
    assert one(loaders.start_wait_ns) == 15
    assert one(loaders.queued_ppm) == 2_000_000
    assert one(loaders.grown_bytes) == 60
    assert one(loaders.queued_most) == 5
    assert one(loaders.transform_ns) == -1
    assert one(loaders.pinning_ns) == -1
    # 220 ns less 15 of start-up less 150 / 3: the rest of the 105 - 15 ns of waiting.
    assert one(loaders.most_gain_ns) == min(105 - 15, 220 - 15 - 50)


def test_a_gain_is_between_zero_and_the_waiting_time(tmp_path: Path) -> None:
    busy = table(worker(0, 100, dataset_ns=900))
    assert one(found(tmp_path, busy, waits((20, 90))).loaders.most_gain_ns) == 0
    idle = table(worker(0, 1000))
    assert one(found(tmp_path, idle, waits((20, 30))).loaders.most_gain_ns) == 10
    assert one(found(tmp_path, idle, None).loaders.waited_ns) == -1
    assert one(found(tmp_path, idle, None).loaders.most_gain_ns) == -1


def test_loaders_are_separate_and_other_children_are_excluded(tmp_path: Path) -> None:
    workers = table(
        worker(0, 50),
        worker(0, 50, name="Sounds", dataset_ns=400),
        worker(0, 50, workers=4),
        worker(0, 50, kind=ChildKind.POOL),
    )
    result = found(tmp_path, workers, None)
    assert result.loaders.name.tolist() == ["Sounds", "Images", "Images"]
    assert result.loaders.workers.tolist() == [2, 2, 4]
    assert result.loaders.shares_waits.tolist() == [1, 1, 1]
    apart = table(worker(1, 50), worker(50, 90, name="Sounds"), worker(60, 80, name="Sounds"))
    assert found(tmp_path, apart, None).loaders.shares_waits.tolist() == [0, 0]
    assert len(result.workers) == 4
    assert worker_findings(trace(tmp_path), Workers.empty(), None, {}) is None


@pytest.mark.parametrize("seed", range(8))
def test_worker_lifetimes_equal_a_count_of_each_ns(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    rows = []
    for _ in range(chosen.randint(1, 6)):
        begun_ns = chosen.randint(1, 150)
        rows.append(worker(begun_ns, begun_ns + chosen.randint(11, 60)))
    waited = [(start, start + chosen.randint(0, 40)) for start in chosen.sample(range(200), 5)]
    loaders = found(tmp_path, table(*rows), waits(*waited)).loaders
    there = {ns for row in rows for ns in range(row["forked_ns"], row["last_ns"])}
    starting = {ns for row in rows for ns in range(row["forked_ns"], row["ready_ns"])}
    assert one(loaders.span_ns) == len(there)
    assert one(loaders.waited_ns) == sum(ns in there for start, end in waited for ns in range(start, end))
    assert one(loaders.start_wait_ns) == sum(
        ns in starting for start, end in waited for ns in range(start, end)
    )


def test_dataset_time_is_divided_by_samples(tmp_path: Path) -> None:
    program = Program(roots={"site": ["/site"]})
    outer = f"{FETCH}:50 _MapDatasetFetcher.fetch", f"{FETCH}:52 <listcomp>"
    item = *outer, "train.py:8 Images.__getitem__"
    program.thread(0)
    program.sample(0, 100, *item, looks=20)
    program.sample(100, 130, *item, "train.py:20 flip_and_transform", "train.py:30 spin", looks=6)
    program.sample(130, 150, *item, "/site/PIL/Image.py:9 Image.load", looks=4)
    program.sample(150, 190, outer[0], "train.py:40 my_collate", looks=8)
    program.sample(190, 250, "worker.py:10 _worker_loop", "/site/torchvision/datasets/mnist.py:1 f", looks=8)
    parts = parts_of(link(program.recording(tmp_path)))
    assert (parts.dataset_ns, parts.transform_ns, parts.looks) == (150, 50, 30)
    own = Line("train.py", 8, "Images.__getitem__")
    # PIL's time counts for the line that calls it.
    assert parts.lines_ns == {own: 120, Line("train.py", 30, "spin"): 30}
    loaders = found(tmp_path, table(worker(7, 500)), None, _7=parts).loaders
    assert one(loaders.transform_ns) == round(40 * 50 / 150)
    assert (str(loaders.file[0]), one(loaders.line)) == (own.file, own.line)
    assert one(loaders.line_ns) == 40 * 120 // 150
    few = parts._replace(looks=19)
    assert one(found(tmp_path, table(worker(7, 500)), None, _7=few).loaders.transform_ns) == -1


def test_pinning_time_comes_from_samples_of_its_thread(tmp_path: Path) -> None:
    program = Program()
    program.thread(0)
    loop = f"{PIN}:30 _pin_memory_loop"
    program.sample(0, 100, loop, "queues.py:1 Queue.get")
    program.sample(100, 130, loop, f"{PIN}:60 pin_memory")
    program.sample(130, 190, loop, f"{PIN}:60 pin_memory")
    result = worker_findings(trace(tmp_path, program), table(worker(50, 150)), None, {})
    assert result is not None
    assert one(result.loaders.pinning_ns) == 30 + 20


def test_waits_are_next_calls_of_a_loader_with_workers(tmp_path: Path) -> None:
    program = Program()
    program.thread(0)
    other = NEXT.replace("MultiProcessing", "SingleProcess")
    program.run(op(NEXT, 10, 30), op("aten::add", 40, 50), op(other, 60, 70), op(NEXT, 80, 90))
    result = find(trace(tmp_path, program), LoaderWaits)[LoaderWaits]
    assert list(zip(result.start_ns.tolist(), result.end_ns.tolist(), strict=True)) == [(10, 30), (80, 90)]
