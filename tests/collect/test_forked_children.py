"""Children of `multiprocessing` record themselves, however they and their parent end."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.events import OperatorWindows
from perfprobe.tables.strings import Strings
from tests.collect.runs import both, command, finish, perfprobe, start
from tests.collect.test_children import lost, lost_lines, report
from tests.snapshots import Snapshot

LOADER = """
import sys, time, torch
from multiprocessing import util
from torch.utils.data import DataLoader, Dataset

spent_s = read_s = 0.0

def spin(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass

def transform(image):
    spin(0.004)
    return image + 1

class Images(Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, index):
        global spent_s, read_s
        begun_s = time.perf_counter()
        time.sleep(0.003) if index % 2 else spin(0.003)
        read_s += time.perf_counter() - begun_s
        image = transform(torch.ones(8, 8))
        spent_s += time.perf_counter() - begun_s
        return image

def say():
    with open(f"worker-{sys.argv[1]}-{number}.txt", "w") as file:
        print(spent_s, read_s, file=file)

def begin(worker):
    global number, kept
    number, kept = worker, util.Finalize(None, say, exitpriority=100)

if __name__ == "__main__":
    loader = DataLoader(
        Images(), batch_size=8, num_workers=2, worker_init_fn=begin, multiprocessing_context=sys.argv[1]
    )
    print(sum(batch.sum().item() for batch in loader))
"""


def times_of(folder: Path, method: str) -> tuple[list[float], list[float]]:
    """The workers' own times in seconds: in the dataset, and of that before the transform."""
    texts = [(folder / f"worker-{method}-{number}.txt").read_text().split() for number in range(2)]
    return [float(spent) for spent, _ in texts], [float(read) for _, read in texts]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_workers_recorded_time_equals_its_own_clock(tmp_path: Path, method: str) -> None:
    document = report(tmp_path, LOADER, "program.py", method)
    spent_s, read_s = times_of(tmp_path, method)
    tables = document["tables"]
    workers = sorted(tables["workers"], key=lambda row: row["worker"])
    assert [row["dataset_ns"] / 1e9 for row in workers] == pytest.approx(spent_s, rel=0.03)
    facts = [(row["kind"], row["method"], row["is_whole"]) for row in workers]
    assert facts == [("loader", method, True)] * 2
    (loader,) = tables["loaders"]
    assert (loader["name"], loader["workers"], loader["batches"]) == ("Images", 2, 12)
    assert loader["dataset_ns"] / 1e9 == pytest.approx(sum(spent_s), rel=0.03)
    assert loader["reading_ns"] / loader["dataset_ns"] == pytest.approx(sum(read_s) / sum(spent_s), abs=0.2)
    assert 0 < loader["most_gain_ns"] <= loader["waited_ns"] <= loader["span_ns"]
    assert loader["start_up_ns"] > 0
    assert loader["collate_ns"] > 0
    assert loader["send_ns"] > 0
    assert {row["kind"] for row in tables["children"]} == {f"{method}ed"}
    assert not lost(document)
    assert "process waited" in document["text"]
    said = {row["label"]: row["text"] for row in reversed(tables["first_screen"])}
    assert said["SLOW"].startswith("data loading, ")  # there are no steps
    assert said["NEXT"].endswith(" --view workers")


KINDS = """
import multiprocessing, os, signal, sys, threading, time
from concurrent.futures import ProcessPoolExecutor
context = multiprocessing.get_context("fork")
def square(number):
    return number * number
def nested(number):
    with context.Pool(2) as pool:
        return sum(pool.map(square, range(number)))
def leave():
    sys.exit(7)
def fail():
    raise ValueError("on purpose")
def hang():
    time.sleep(60)
def run(target, end=None):
    child = context.Process(target=target)
    child.start()
    if end is not None:
        time.sleep(0.2)
        os.kill(child.pid, end)
    child.join()
    print(target.__name__, child.exitcode, flush=True)
with context.Pool(2) as pool:
    print(pool.map(square, range(6)), flush=True)
with ProcessPoolExecutor(2, mp_context=context) as executor:
    print(list(executor.map(nested, range(3))), flush=True)
thread = threading.Thread(target=run, args=(leave,))
thread.start(); thread.join()
run(fail)
run(hang, signal.SIGTERM)
run(hang, signal.SIGKILL)
if (child := os.fork()) == 0:
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_children_of_all_kinds_behave_as_under_plain_python(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "program.py").write_text(KINDS)
    pair = both(["program.py"], tmp_path)
    assert (pair.recorded.status, pair.recorded.out) == (pair.plain.status, pair.plain.out)
    assert pair.recorded.err.split(b"\n") == pair.plain.err.split(b"\n")
    document = json.loads(command(["report", "--json", "recorded.perfprobe"], tmp_path).out)
    rows = document["tables"]["workers"]
    kinds = [row["kind"] for row in rows]
    reported = {kind: kinds.count(kind) for kind in kinds}
    assert (reported["executor"], reported["process"]) == (2, 4)
    # Leaving a pool terminates its workers, maybe before one has registered.
    assert (reported["pool"] + reported.get("unknown", 0), len(rows)) == (8, 14)
    processes = {row["name"]: row["is_whole"] for row in rows if row["kind"] == "process"}
    assert processes == {"leave": True, "fail": True, "hang": False}
    parents = {row["process"] for row in rows if row["kind"] == "executor"}
    assert {row["parent"] for row in rows if row["kind"] == "pool"} > parents
    snapshot("\n".join(f"{count} {reason}; {remedy}" for reason, (count, remedy) in lost(document).items()))


def test_children_beyond_sixteen_are_sums(tmp_path: Path) -> None:
    document = report(
        tmp_path,
        """
        import multiprocessing
        context = multiprocessing.get_context("fork")
        for number in range(20):
            child = context.Process(target=sum, args=(range(9),))
            child.start(); child.join()
        """,
    )
    rows = document["tables"]["workers"]
    assert [row["is_detailed"] for row in rows] == [True] * 16 + [False] * 4
    assert all(row["is_whole"] and row["cpu_ns"] > 0 for row in rows)
    assert len(list((tmp_path / "run-children").iterdir())) == 17
    assert document["meta"]["children"]["forked"] == 20
    assert not lost(document)
    assert "20: 16 recorded" in document["text"]


def test_a_recorded_child_has_its_own_samples(tmp_path: Path) -> None:
    source = """
        import multiprocessing, time
        def busy():
            until = time.perf_counter() + 0.4
            while time.perf_counter() < until:
                sum(range(100))
        child = multiprocessing.get_context("fork").Process(target=busy)
        child.start(); child.join()
        """
    document = report(tmp_path, source)
    (row,) = document["tables"]["children"]
    child = json.loads(command(["report", "--json", row["recording"]], tmp_path).out)
    functions = {found["function"]: found["total_ns"] for found in child["tables"]["functions"]}
    assert functions["busy"] > 0.25e9
    program = document["meta"]["program"]
    assert child["meta"]["program"]["parent_pid"] == program["pid"]
    assert child["meta"]["recording"]["python"] == "sample"
    assert child["meta"]["recording"]["buffer_bytes"] == 4 << 20
    assert child["meta"]["host"] == document["meta"]["host"]


def test_the_sums_of_children_survive_a_killed_parent(tmp_path: Path) -> None:
    source = """
        import multiprocessing, time
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1.5,))
        child.start()
        print("ready", flush=True)
        child.join()
        """
    (tmp_path / "program.py").write_text(dedent(source))
    process = start(["-m", "perfprobe", "-q", "-o", "run.perfprobe", "program.py"], tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGKILL)
    finish(process)  # the child holds the pipe, so this waits for its end too
    document = json.loads(command(["report", "--json", "run.perfprobe"], tmp_path).out)
    (row,) = document["tables"]["workers"]
    assert (row["name"], row["kind"], row["is_whole"]) == ("sleep", "process", True)
    assert not lost(document)
    (child,) = document["tables"]["children"]
    assert command(["report", child["recording"]], tmp_path).status == 0


def test_children_off_does_not_record_children(tmp_path: Path, snapshot: Snapshot) -> None:
    source = """
        import multiprocessing
        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                child = multiprocessing.get_context(method).Process(target=print)
                child.start(); child.join()
        """
    document = report(tmp_path, source, "--children", "off", "program.py")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py", "run.json", "run.perfprobe"]
    assert "workers" not in document["tables"]
    snapshot(lost_lines(document))


@pytest.mark.parametrize("option", ["--steps 0:1", "--rotate 1M", "--baseline 3", "--benchmark"])
def test_the_option_that_left_out_children_is_named(tmp_path: Path, option: str) -> None:
    source = """
        import multiprocessing
        if __name__ == "__main__":
            child = multiprocessing.get_context("fork").Process(target=print)
            child.start(); child.join()
        """
    document = report(tmp_path, source, *option.split(), "program.py")
    remedies = {row["remedy"] for row in document["missing"] if row["source"] == "processes"}
    named = option if option.startswith("--steps") else option.split(maxsplit=1)[0]
    (remedy,) = remedies
    assert remedy.endswith(f" without {named}")


def test_forks_during_backward_on_threads_do_not_hang(tmp_path: Path) -> None:
    source = """
        import ctypes, multiprocessing, sys, threading, time, torch
        context = multiprocessing.get_context("fork")
        has_callbacks = ctypes.CDLL(torch.__path__[0] + "/lib/libtorch_cpu.so")._ZN2at18hasGlobalCallbacksEv
        has_callbacks.restype = ctypes.c_bool
        going = True
        def leave_without_callbacks():
            for _ in range(1000):
                if not has_callbacks(): return
                time.sleep(0.01)
            sys.exit("torch still calls the observer")
        def step(weight):
            (weight @ weight).relu().sum().backward()
        def train():
            weight = torch.randn(32, 32, requires_grad=True)
            while going:
                step(weight)
        # Before any fork: torch chooses a kernel at its first call, under a lock that a child would inherit.
        step(torch.ones(32, 32, requires_grad=True))
        threads = [threading.Thread(target=train) for _ in range(2)]
        for thread in threads: thread.start()
        codes = set()
        for number in range(18):
            # Daemon: a child that hangs is killed at exit.
            child = context.Process(target=torch.ones, args=(3,), daemon=True)
            child.start(); child.join(60)
            codes.add(child.exitcode)
        going = False
        for thread in threads: thread.join()
        # Beyond the sixteenth, children record nothing in detail.
        child = context.Process(target=leave_without_callbacks)
        child.start(); child.join()
        print(has_callbacks(), codes, child.exitcode)
        """
    (tmp_path / "program.py").write_text(dedent(source))
    outcome = perfprobe(["-q", "-o", "run.perfprobe", "program.py"], tmp_path)
    assert (outcome.status, outcome.out) == (0, b"True {0} 0\n"), outcome.err
    document = json.loads(command(["report", "--json", "run.perfprobe"], tmp_path).out)
    assert sum(row["is_whole"] for row in document["tables"]["workers"]) == 19


FAILS = """
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
class Broken(Dataset):
    def __len__(self): return 4
    def __getitem__(self, index): return torch.ones(index // 2 + 1)
class Stream(IterableDataset):
    def __iter__(self): return iter([torch.ones(2)] * 5)
forked = dict(num_workers=1, multiprocessing_context="fork")
print([batch.shape for batch in DataLoader(Stream(), batch_size=2, persistent_workers=True, **forked)])
list(DataLoader(Broken(), batch_size=4, **forked))
"""


def test_an_error_in_a_worker_is_that_of_plain_python(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FAILS)
    pair = both(["program.py"], tmp_path)
    assert (pair.recorded.status, pair.recorded.out) == (pair.plain.status, pair.plain.out) != (0, b"")
    assert b"stack expects each tensor" in pair.plain.err
    assert pair.recorded.err.rstrip() == pair.plain.err.rstrip()


def test_missing_sums_are_a_loss(tmp_path: Path, snapshot: Snapshot) -> None:
    source = """
        import multiprocessing
        child = multiprocessing.get_context("fork").Process(target=print)
        child.start(); child.join()
        """
    report(tmp_path, source)
    os.rename(tmp_path / "run-children", tmp_path / "elsewhere")
    document: dict[str, Any] = json.loads(command(["report", "--json", "run.perfprobe"], tmp_path).out)
    assert "workers" not in document["tables"]
    snapshot(lost_lines(document))


def test_batches_of_persistent_workers_are_counted(tmp_path: Path) -> None:
    source = """
        import torch
        from torch.utils.data import DataLoader, IterableDataset
        class Stream(IterableDataset):
            def __iter__(self): return iter([torch.ones(2)] * 5)
        forked = dict(num_workers=1, multiprocessing_context="fork")
        loader = DataLoader(Stream(), batch_size=2, persistent_workers=True, **forked)
        print([len(list(loader)) for _ in range(3)])
        """
    document = report(tmp_path, source)
    (loader,) = document["tables"]["loaders"]
    assert (loader["batches"], loader["processes"], loader["shares_waits"]) == (9, 1, False)


def test_a_worker_of_many_small_operators_records_windows_of_them(tmp_path: Path) -> None:
    """A worker runs 120,000 operators of a microsecond: they are recorded in windows, the rest is a loss."""
    source = """
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Many(Dataset):
            def __len__(self):
                return 60

            def __getitem__(self, index):
                value = torch.zeros(4)
                for _ in range(2000):
                    value += 1
                return value

        loader = DataLoader(Many(), batch_size=4, num_workers=1, multiprocessing_context="fork")
        print(sum(batch.sum().item() for batch in loader))
        """
    document = report(tmp_path, source)
    (worker,) = document["tables"]["workers"]
    assert worker["is_whole"]
    assert worker["batches"] == 15
    recording = storage.read(tmp_path / "run-children" / f"{worker['process']}.perfprobe")
    windows = recording[OperatorWindows]
    is_add = recording[Strings].marks(lambda text: text == "aten::add_")
    ended_ns = np.concatenate([each.end_ns[is_add[each.name]] for each in recording.operators()])
    assert 0 < len(ended_ns) < 60_000  # a busy machine has few windows: their budget is a part of CPU time
    assert len(windows)
    assert (windows.start_ns[1:] > windows.end_ns[:-1]).all()
    # One operator can end behind a window: in it the budget was spent.
    behind = np.searchsorted(windows.start_ns, ended_ns, "right") - 1
    assert int((ended_ns > windows.end_ns[behind]).sum()) <= len(windows)
    losses = [row["reason"] for row in Results(recording.path).document(View())["missing"]]
    assert any("operators of this" in reason for reason in losses), losses
