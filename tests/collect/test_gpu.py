"""Programs that use a simulated GPU (a stand-in for libcupti): what they did is what is recorded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.collect.gpu import COPIES
from perfprobe.tables import storage
from perfprobe.tables.events import Losses, Threads
from perfprobe.tables.gpu import (
    GPU_EVENTS,
    ApiCalls,
    Copies,
    CopyKind,
    GpuWaits,
    Kernels,
    MemoryKind,
    WaitKind,
)
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.collect.runs import LIMIT_S, Outcome, both, finish, perfprobe, start
from tests.collect.standin import LAUNCHES, OPERATORS, STUB, environment
from tests.snapshots import Snapshot

pytest.importorskip("torch", reason="the programs are torch's")


@dataclass(frozen=True)
class Run:
    outcome: Outcome
    recording: Recording

    @property
    def losses(self) -> dict[str, int]:
        """GPU losses: the count by reason."""
        table = self.recording[Losses]
        rows = [row for row in range(len(table)) if table.source[row] == "gpu"]
        return {str(table.reason[row]): int(table.count[row]) for row in rows}

    def names(self, table: Any) -> list[str]:
        return [self.recording[Strings][name] for name in table.name]


def launches(program: str, folder: Path, standin: Path, *words: str, **settings: str) -> Run:
    """The same as `run`, without operators and much sooner."""
    (folder / "torch.py").write_text(STUB)
    return run(program, folder, standin, "--operators", "off", *words, head=LAUNCHES, **settings)


def run(
    program: str, folder: Path, standin: Path, *words: str, head: str = OPERATORS, **settings: str
) -> Run:
    (folder / "main.py").write_text(head + program)
    path = folder / "run.perfprobe"
    given = ["-q", "--gpu", "cupti", "-o", str(path), *words, "main.py"]
    outcome = perfprobe(given, folder, environment(standin, **settings))
    assert outcome.status == 0, outcome
    return Run(outcome, storage.read(path))


PROGRAM = """
x = torch.ones(1024)
for ns in (1_000_000, 2_000_000, 3_000_000):
    x = work(x, "gemm", ns)
x = send(x)
thread = threading.Thread(target=lambda: work(torch.ones(2), "other", 500_000))
thread.start()
thread.join()
gpu.standin_launch_by_driver(b"triton", 1000, 7)
gpu.standin_launch_graph(b"node", 4, 1000, 7)
gpu.standin_fill(256, 1000, 7)
gpu.standin_ask()
wait()
print("other thread", thread.native_id)
"""


@pytest.fixture(scope="module")
def seen(standin: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """PROGRAM, with its report in run.json beside the recording."""
    return run(PROGRAM, tmp_path_factory.mktemp("seen"), standin, "--json", "run.json")


def test_all_gpu_work_of_the_program_is_recorded(seen: Run) -> None:
    gpu = seen.recording
    kernels = dict(zip(seen.names(gpu[Kernels]), gpu[Kernels].end_ns - gpu[Kernels].start_ns, strict=True))
    assert Counter(seen.names(gpu[Kernels])) == {"gemm": 3, "other": 1, "triton": 1, "node": 4}
    assert kernels == {"gemm": 3_000_000, "other": 500_000, "triton": 1000, "node": 1000}
    assert sorted(gpu[Kernels].graph_node[gpu[Kernels].graph >= 0]) == [1, 2, 3, 4]
    assert np.all(gpu[Kernels].stream == 7)
    order = np.argsort(gpu[Copies].start_ns)
    assert list(gpu[Copies].kind[order]) == [CopyKind.HOST_TO_DEVICE, CopyKind.FILL]
    assert list(gpu[Copies].size_bytes[order]) == [4096, 256]
    assert gpu[Copies].source[order[0]] == MemoryKind.PAGEABLE
    assert gpu[Copies].is_async[order[0]] == 0
    assert list(gpu[GpuWaits].kind) == [WaitKind.STREAM]
    assert Counter(seen.names(gpu[ApiCalls])) == {
        "cudaLaunchKernel": 4,
        "cuLaunchKernel": 1,
        "cudaGraphLaunch": 1,
        "cudaMemcpy": 1,
        "cudaMemsetAsync": 1,
        "cudaStreamSynchronize": 1,
    }
    assert seen.losses == {}
    assert seen.recording.fact("gpu", "canary") is True
    assert seen.recording.fact("gpu", "faults").keys() == {"clock", "graph_ids"}
    assert seen.recording.fact("gpu", "devices")[0]["name"] == "Stand-in"


def test_only_gpu_work_of_the_window_is_recorded(standin: Path, tmp_path: Path) -> None:
    program = """
import perfprobe
for number in range(6):
    work(torch.ones(4), f"step {number}", 1000)
    wait()
    perfprobe.step()
"""
    seen = run(program, tmp_path, standin, "--steps", "2:4")
    assert seen.names(seen.recording[Kernels]) == ["step 2", "step 3"]
    assert len(seen.recording[GpuWaits]) == 2
    assert seen.losses == {}
    assert seen.recording.fact("gpu", "canary") is True


def test_calls_are_inside_their_operators(seen: Run) -> None:
    recording, gpu = seen.recording, seen.recording
    (batch,) = recording.operators()
    names = [recording[Strings][name] for name in batch.name]
    calls = gpu[ApiCalls]
    main, other = os_threads(recording, calls.thread), int(seen.outcome.out.split()[-1])
    works = [row for row, name in enumerate(names) if name == "standin::work"]
    launches = [row for row, name in enumerate(seen.names(calls)) if name == "cudaLaunchKernel"]
    assert len(works) == len(launches) == 4
    for launch, work in zip(by_start(launches, calls), by_start(works, batch), strict=True):
        assert batch.start_ns[work] <= calls.start_ns[launch]
        assert calls.end_ns[launch] <= batch.end_ns[work]
        assert os_threads(recording, calls.thread)[launch] == os_threads(recording, batch.thread)[work]
    assert [main[row] == other for row in by_start(launches, calls)] == [False, False, False, True]
    started = dict(zip(calls.correlation, calls.start_ns, strict=True))
    for correlation, start_ns in zip(gpu[Kernels].correlation, gpu[Kernels].start_ns, strict=True):
        assert started[correlation] <= start_ns


def os_threads(recording: Recording, rows: Any) -> list[int]:
    return [int(recording[Threads].os_thread[row]) for row in rows]


def by_start(rows: list[int], table: Any) -> list[int]:
    return sorted(rows, key=lambda row: int(table.start_ns[row]))


def test_the_report_names_operator_and_line_of_each_kernel(seen: Run) -> None:
    folder = Path(seen.recording.path).parent
    tables = json.loads((folder / "run.json").read_text())["tables"]
    source = (folder / "main.py").read_text().splitlines()

    def place(row: dict[str, Any]) -> tuple[str | None, str | None]:
        return row["operator"], None if row["line"] is None else source[row["line"] - 1].strip()

    gemm = ("standin::work", 'x = work(x, "gemm", ns)')
    other = (
        "standin::work",
        'thread = threading.Thread(target=lambda: work(torch.ones(2), "other", 500_000))',
    )
    found = Counter({(row["name"], *place(row)): 0 for row in tables["kernels"]})
    for row in tables["kernels"]:
        found[(row["name"], *place(row))] += row["kernels"]
    inside = {name: count for name, count in found.items() if name[1] is not None}
    assert inside == {("gemm", *gemm): 3, ("other", *other): 1}
    assert {name[0]: count for name, count in found.items() if name[1] is None} == {"triton": 1, "node": 4}
    assert [place(row) for row in tables["copies"] if row["kind"] == "host_to_device"] == [
        ("standin::send", "x = send(x)")
    ]


def test_the_program_behaves_as_under_plain_python(tmp_path: Path, standin: Path) -> None:
    program = "x = work(torch.ones(3), 'k', 10)\nprint(x)\nwait()\nsys.stderr.write('bad\\n')\nsys.exit(3)\n"
    (tmp_path / "main.py").write_text(OPERATORS + program)
    pair = both(["main.py"], tmp_path, environment=environment(standin))
    assert pair.plain.status == 3
    assert pair.recorded.out == pair.plain.out
    assert pair.recorded.err == pair.plain.err
    assert pair.recorded.status == 3


def test_counters_equal_the_sums_of_the_records(tmp_path: Path, standin: Path) -> None:
    program = """
import json, perfprobe
for _ in range(20):
    work(torch.ones(2), "k", 100_000)
send(torch.ones(100))
gpu.standin_fill(64, 1000, 7)
wait()
while (counters := perfprobe.gpu_counters())["fills"]["calls"] < 1:
    time.sleep(0.01)
print(json.dumps(counters))
"""
    seen = launches(program, tmp_path, standin)
    gpu = seen.recording
    counters = json.loads(seen.outcome.out)
    assert counters == seen.recording.fact("gpu", "counters")
    ns = gpu[Kernels].end_ns - gpu[Kernels].start_ns
    assert (
        counters["kernels"]
        == {"calls": len(gpu[Kernels]), "ns": int(ns.sum())}
        == {"calls": 20, "ns": 2_000_000}
    )
    for name, kind in [*((name, place) for place, name in enumerate(COPIES)), ("fills", CopyKind.FILL)]:
        rows = gpu[Copies].kind == kind
        ns = (gpu[Copies].end_ns - gpu[Copies].start_ns)[rows]
        summed = {
            "calls": int(rows.sum()),
            "bytes": int(gpu[Copies].size_bytes[rows].sum()),
            "ns": int(ns.sum()),
        }
        assert (counters["copies"][name] if name != "fills" else counters["fills"]) == summed


def test_names_of_copies_agree_with_the_table() -> None:
    assert [kind.name.lower() for kind in CopyKind if kind != CopyKind.FILL] == list(COPIES)


def test_simulated_losses_are_reported(tmp_path: Path, standin: Path, snapshot: Snapshot) -> None:
    program = "for _ in range(20):\n    work(torch.ones(2), 'k', 1000)\nwait()\n"
    seen = launches(program, tmp_path, standin, drop="5", untimed="4", buffer="600")
    untimed = np.count_nonzero(seen.recording[Kernels].start_ns < 0)
    assert untimed == 4
    assert sorted(seen.losses.values()) == [4, untimed]
    assert len(seen.recording[Kernels]) == 16
    snapshot("\n".join(f"{count} {reason}" for reason, count in seen.losses.items()))


def test_another_client_that_takes_over_is_reported(
    tmp_path: Path, standin: Path, snapshot: Snapshot
) -> None:
    seen = launches("work(torch.ones(2), 'k', 1000)\nwait()\ngpu.standin_take_over()\n", tmp_path, standin)
    (reason,) = seen.losses
    said = [line for line in seen.outcome.said if "client of" in line]
    snapshot("\n".join([reason, *said]))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"client": "CUPTI for Kineto"}, "another tool uses CUPTI already: CUPTI for Kineto"),
        ({"fail": "cuptiActivityEnable10=35"}, "allows tracing only for administrators"),
        ({"devices": "0"}, "shows no device"),
    ],
)
def test_a_refusal_is_reported_in_one_line_and_as_a_loss(
    settings: dict[str, str], expected: str, tmp_path: Path, standin: Path
) -> None:
    seen = launches("work(torch.ones(2), 'k', 1000)\nprint(7)\n", tmp_path, standin, **settings)
    assert seen.outcome.out == b"7\n"
    (line,) = [line for line in seen.outcome.said if "no GPU is recorded" in line]
    assert expected in line
    assert any(expected in reason for reason in seen.losses)
    assert seen.recording.rows(*GPU_EVENTS) == 0
    assert expected in seen.recording.fact("gpu", "lack")


def test_a_tool_that_holds_cupti_is_not_disturbed(
    tmp_path: Path, standin: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "1")
    seen = launches("work(torch.ones(2), 'k', 1000)\n", tmp_path, standin)
    assert seen.recording.fact("gpu", "library") is None
    snapshot("\n".join(reason for reason in seen.losses if "CUPTI" in reason))


def test_forked_children_are_not_recorded_and_the_parent_is(tmp_path: Path, standin: Path) -> None:
    program = """
import warnings
warnings.simplefilter("ignore")
for i in range(3):
    work(torch.ones(2), "parent", 1000)
    child = os.fork()
    if child == 0:
        gpu.standin_launch(b"child", 1000, 7)
        import perfprobe
        os._exit(0 if perfprobe_counters_fail() else 1)
    print(os.waitpid(child, 0)[1])
wait()
"""
    helper = """
def perfprobe_counters_fail():
    import perfprobe
    return perfprobe.gpu_counters() is None
"""
    seen = launches(helper + program, tmp_path, standin)
    assert seen.outcome.out == b"0\n0\n0\n"
    assert Counter(seen.names(seen.recording[Kernels])) == {"parent": 3}
    assert seen.losses == {}


def test_spawned_children_record_themselves(tmp_path: Path, standin: Path) -> None:
    program = """
import multiprocessing

def child():
    work(torch.ones(2), "child", 1000)
    wait()

if __name__ == "__main__":
    work(torch.ones(2), "parent", 1000)
    process = multiprocessing.get_context("spawn").Process(target=child)
    process.start()
    process.join()
    wait()
"""
    seen = run(program, tmp_path, standin)
    assert Counter(seen.names(seen.recording[Kernels])) == {"parent": 1}
    (path,) = tmp_path.glob("run-children/*.perfprobe")
    child = Run(seen.outcome, storage.read(path))
    assert Counter(child.names(child.recording[Kernels])) == {"child": 1}


def test_consecutive_blocks_are_recorded(tmp_path: Path, standin: Path) -> None:
    program = """
import perfprobe
for i in range(2):
    with perfprobe.profile(f"block{i}.perfprobe", operators="off", gpu="cupti"):
        for _ in range(i + 1):
            work(torch.ones(2), f"block{i}", 1000)
        wait()
    work(torch.ones(2), "between", 1000)
    wait()
print("counters", perfprobe.gpu_counters())
"""
    (tmp_path / "torch.py").write_text(STUB)
    (tmp_path / "main.py").write_text(LAUNCHES + program)
    outcome = finish(start(["main.py"], tmp_path, environment(standin)))
    assert (outcome.status, outcome.out) == (0, b"counters None\n"), outcome.err
    for i in range(2):
        recording = storage.read(tmp_path / f"block{i}.perfprobe")
        names = [recording[Strings][name] for name in recording[Kernels].name]
        assert names == [f"block{i}"] * (i + 1)
        assert recording.fact("gpu", "canary") is True


def test_a_killed_run_loses_at_most_its_last_second(tmp_path: Path, standin: Path) -> None:
    program = """
for i in range(1_000_000):
    gpu.standin_launch(b"k", 1000, 7)
    if i % 100 == 0:
        print(i, time.monotonic_ns(), flush=True)
    time.sleep(0.002)
"""
    (tmp_path / "torch.py").write_text(STUB)
    (tmp_path / "main.py").write_text(LAUNCHES + program)
    path = tmp_path / "run.perfprobe"
    words = ["--operators", "off", "--gpu", "cupti", "-o", str(path), "main.py"]
    process = subprocess.Popen(
        [sys.executable, "-m", "perfprobe", *words],
        cwd=tmp_path,
        env={**os.environ, **environment(standin)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(2.5)
    process.send_signal(signal.SIGKILL)
    killed_ns = time.monotonic_ns()
    process.communicate(timeout=LIMIT_S)
    recording = storage.read(path)
    assert not recording.complete
    assert len(recording[Kernels]) > 100
    # Twice the promised time, because the machine may be busy.
    assert killed_ns - int(recording[Kernels].start_ns.max()) < 2_000_000_000


def test_without_a_gpu_nothing_is_printed_unless_requested(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(STUB)
    (tmp_path / "main.py").write_text("import torch\nprint(torch.ones(7))\n")
    for mode, said in (("auto", 0), ("cupti", 1), ("off", 0)):
        path = tmp_path / f"{mode}.perfprobe"
        words = ["-q", "--operators", "off", "--gpu", mode, "-o", str(path), "main.py"]
        outcome = perfprobe(words, tmp_path)
        seen = Run(outcome, storage.read(path))
        assert outcome.out == b"7\n"
        assert len([line for line in outcome.said if "no GPU is recorded" in line]) == said
        assert len(seen.losses) == said
        assert seen.recording.fact("gpu", "lack")
