"""Programs with torch behave as under plain python, and their recordings are complete."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.collect.runs import BUSY_SOURCES, Pair, both, finish, start, where
from tests.snapshots import Snapshot

# Several things in one program, because to import torch takes most of its time.
PROGRAMS = {
    "loader and profilers": """
        import atexit, cProfile, os
        os.environ["OMP_NUM_THREADS"] = "1"
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Squares(Dataset):
            def __len__(self): return 8
            def __getitem__(self, i): return torch.full((2,), float(i)) ** 2
        for batch in DataLoader(Squares(), batch_size=4, num_workers=2):
            print(batch.sum().item())
        print(torch.get_num_threads())
        torch.set_num_interop_threads(3)
        x = torch.ones(4, 4, requires_grad=True)
        with torch.profiler.profile(record_shapes=True, profile_memory=True) as profiled:
            (x @ x).sum().backward()
        print(sorted(event.name for event in profiled.events() if event.name.startswith("aten::")))
        with cProfile.Profile() as python_profile:
            torch.relu(x)
        print(len(python_profile.getstats()) > 0)
        atexit.register(lambda: print("at exit", torch.ones(3).sum().item()))
        """,
    "forks": """
        import os, sys
        child = os.fork()
        import torch
        for _ in range(10): torch.ones(2).mul(1)
        if child == 0:
            sys.exit()
        os.waitpid(child, 0)
        x = torch.ones(100)
        for _ in range(50): x = x + 1
        child = os.fork()
        for _ in range(50): x = x + 1
        if child == 0:
            print("child", x[0].item(), flush=True)
            sys.exit(7)
        print("parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), x[0].item())
        def broken(x):
            raise ValueError("in a hook")
        y = torch.ones(2, requires_grad=True)
        y.register_hook(broken)
        y.sum().backward()
        """,
    "threads": """
        import sys, threading, torch
        def work_on():
            while True: torch.ones(3).add_(1)
        threading.Thread(target=work_on, daemon=True).start()
        for _ in range(100): torch.ones(3).mul(1)
        def work():
            for _ in range(100): torch.ones(3).add_(1)
        for _ in range(3): threading.Thread(target=work).start()
        torch.ones(2).mul(2)
        print("torch._inductor.codecache" in sys.modules)
        """,
    "spawn": """
        import torch, torch.multiprocessing as mp
        def work(rank, shared):
            shared[rank] = torch.full((3,), float(rank + 1)).sum()
        if __name__ == "__main__":
            shared = torch.zeros(1).share_memory_()
            mp.spawn(work, args=(shared,), nprocs=1)
            print(shared)
        """,
}


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def pair(program: str, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp(program)
    (folder / "main.py").write_text(dedent(PROGRAMS[program]))
    return both(["main.py"], folder)


def operator_names(recording: Recording) -> dict[str, int]:
    counted: dict[str, int] = {}
    for batch in recording.operators(["name"]):
        ids, counts = np.unique(batch.name, return_counts=True)
        for name, calls in zip(ids.tolist(), counts.tolist(), strict=True):
            text = recording[Strings][name]
            counted[text] = counted.get(text, 0) + calls
    return counted


def test_same_as_under_plain_python(pair: Pair) -> None:
    assert pair.recorded.status == pair.plain.status
    assert pair.recorded.out == pair.plain.out
    # torch.profiler logs times and process ids.
    assert re.sub(rb"\d+", b"0", pair.recorded.err) == re.sub(rb"\d+", b"0", pair.plain.err)
    assert pair.recorded.said == (where(pair.recording),)


def test_the_recording_is_complete_and_has_operators(pair: Pair) -> None:
    recording = storage.read(pair.recording)
    assert recording.complete
    assert recording.stopped_at is None
    assert recording.operator_rows > 0
    assert recording.text("versions", "torch") == recording.text("torch", "version")
    assert (recording.number("torch", "threads") or 0) >= 1
    parts = ("event_ns", "trial_own_ns", "start_cpu_ns", "torch_cpu_ns", "stop_cpu_ns")
    assert [part for part in parts if (recording.number("cost", part) or 0) <= 0] == []
    own_ns = recording.number("cost", "own_ns")  # measured at one event in 61
    assert own_ns is not None
    assert own_ns > 0 or recording.operator_rows < 200
    assert (recording.number("cost", "empty_ns") or 0) > 0


def test_special_contents_of_each_recording(program: str, pair: Pair) -> None:
    checks = {
        "loader and profilers": check_loader_and_profilers,
        "forks": check_forks,
        "spawn": check_spawn,
        "threads": check_threads,
    }
    if program in checks:
        checks[program](pair)


def check_loader_and_profilers(pair: Pair) -> None:
    recording = storage.read(pair.recording)
    assert losses(recording) == {}
    assert recording.number("children", "forked") == 2
    for child in map(storage.read, pair.recording.parent.glob("recorded-children/*.perfprobe")):
        assert child.complete
        assert operator_names(child)["aten::full"] == 4
    assert recording.fact("environment", "OMP_NUM_THREADS") == "1"
    assert recording.fact("torch", "threads") == 1
    assert recording.fact("torch", "interop_threads") == 3


def check_forks(pair: Pair) -> None:
    recording = storage.read(pair.recording)
    assert operator_names(recording)["aten::mul"] == 10
    assert operator_names(recording)["aten::add"] == 100
    ((reason, processes),) = losses(recording).items()
    assert ("forked" in reason, processes) == (True, 2)


def check_spawn(pair: Pair) -> None:
    (file,) = pair.recording.parent.glob("recorded-children/*.perfprobe")
    child = storage.read(file)
    assert file.name == f"{child.fact('program', 'pid')}.perfprobe"
    assert child.complete
    assert child.fact("program", "parent_pid") == storage.read(pair.recording).fact("program", "pid")
    assert operator_names(child)["aten::full"] == 1


def check_threads(pair: Pair) -> None:
    """Without inductor nothing of it is imported or hooked."""
    assert pair.recorded.out == b"False\n"
    meta = Results(str(pair.recording)).document(View())["meta"]
    assert "compiled" not in meta
    assert "inductor" not in meta["roots"]


def losses(recording: Recording) -> dict[str, int]:
    """All losses except those that depend on the machine's load."""
    table = recording[Losses]
    rows = [row for row in range(len(table)) if table.source[row] not in BUSY_SOURCES]
    return {table.reason[row]: int(table.count[row]) for row in rows}


def test_a_killed_program_leaves_a_readable_recording(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import os, signal, time, torch\n"
        "for _ in range(1000): torch.ones(2).add(1)\n"
        "time.sleep(1.2)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    outcome = finish(start(["-m", "perfprobe", "-o", "run.perfprobe", "main.py"], tmp_path))
    assert (outcome.status, outcome.out, outcome.err) == (-9, b"", b"")
    recording = storage.read(tmp_path / "run.perfprobe")
    assert not recording.complete
    assert operator_names(recording)["aten::add"] == 1000


def test_torchrun_makes_one_recording_per_rank(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\ntorch.ones(3).add(1)\n")
    words = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "perfprobe", "train.py"]
    outcome = finish(start(words, tmp_path))
    assert outcome.status == 0
    assert len(outcome.said) == 2
    paths = tmp_path.glob(".perfprobe/train-*-rank*.perfprobe")
    ranks = [storage.read(path).fact("rank", "rank") for path in paths]
    assert sorted(ranks) == [0, 1]  # the names begin with the second of the start
    assert outcome.err.count(b"none found: no optimizer step") == 1  # one report


def test_blocks_in_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import perfprobe\n"
        "with perfprobe.profile('first.perfprobe'):\n"
        "    import torch\n"
        "    torch.ones(2).add(1)\n"
        "torch.ones(2).mul(1)\n"
        "with perfprobe.profile('second.perfprobe') as second:\n"
        "    torch.ones(2).sub(1)\n"
        "second.report(top=5)\n"
    )
    outcome = finish(start(["main.py"], tmp_path))
    assert (outcome.status, outcome.err) == (0, b"")
    assert b"aten::sub" in outcome.out
    assert b"main.py:7" in outcome.out
    first, second = (storage.read(tmp_path / f"{name}.perfprobe") for name in ("first", "second"))
    assert {"aten::add"} == {"aten::add", "aten::mul", "aten::sub"} & operator_names(first).keys()
    assert {"aten::sub"} == {"aten::add", "aten::mul", "aten::sub"} & operator_names(second).keys()


def test_another_torch_version_is_reported_and_a_loss(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "torch.py").write_text(
        "__version__ = '1.0'\nclass version: cuda = None\n"
        "def get_num_threads(): return 1\ndef get_num_interop_threads(): return 1\n"
    )
    (tmp_path / "main.py").write_text("import torch\nprint(torch.__version__)\n")
    pair = both(["main.py"], tmp_path)
    assert (pair.recorded.status, pair.recorded.out, pair.recorded.err) == (0, b"1.0\n", b"")
    (reason,) = losses(storage.read(pair.recording))
    lines = f"{pair.recorded.said[0]}\n{reason}"
    snapshot(re.sub(r"(built for torch) [^\s,;]+", r"\1 VERSION", lines))


def test_a_failing_import_of_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import missing_library_of_torch\n")
    (tmp_path / "main.py").write_text(
        "try:\n    import torch\nexcept ImportError as e: print(e)\nimport torch\n"
    )
    pair = both(["main.py"], tmp_path)
    assert (pair.recorded.status, pair.recorded.out) == (1, pair.plain.out)
    if sys.version_info >= (3, 11):
        assert pair.recorded.err == pair.plain.err
    assert any("never imported" in reason for reason in losses(storage.read(pair.recording)))
