"""Recorded ranges of a program and its libraries, compared with counts and times by hand."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from pathlib import Path

import pytest

from perfprobe import native
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from tests.collect import ranged
from tests.collect.runs import both, finish, perfprobe, start
from tests.snapshots import Snapshot

VARIABLES = ("NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64")
RECORD = ["-q", "--python", "off", "-o", "run.perfprobe"]

# Each `around` notes the time just before and after a begin or an end.
ALL_AT_ONCE = """\
import ctypes, json, sys, time
import nvtx, torch
import perfprobe
torch.set_num_threads(1)
client = ctypes.CDLL(sys.argv[1])
client.client_start.restype = ctypes.c_uint64
client.client_end.argtypes = [ctypes.c_uint64]
times = {}
def around(name, call, *words):
    before = time.perf_counter_ns()
    value = call(*words)
    times.setdefault(name, []).extend([before, time.perf_counter_ns()])
    return value
mine = perfprobe.range("mine")
around("c++", client.client_push, b"c++")
around("package", nvtx.push_range, "package", None, "a domain")
around("mine", mine.__enter__)
around("itt", torch.profiler.itt.range_push, "itt")
time.sleep(0.003)
torch.nn.functional.conv2d(torch.ones(2, 3, 32, 32), torch.ones(4, 3, 3, 3))
around("itt", torch.profiler.itt.range_pop)
around("mine", mine.__exit__, None, None, None)
around("package", nvtx.pop_range, "a domain")
around("c++", client.client_pop)
free = around("free", client.client_start, b"free")
client.client_push_wide(), client.client_pop()
around("free", client.client_end, free)
nvtx.mark("a mark")
client.client_push(b"never ended")
print(json.dumps(times))
"""


def test_all_kinds_of_ranges_in_one_recording(tmp_path: Path, nvtx_library: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("nvtx")
    (tmp_path / "main.py").write_text(ALL_AT_ONCE)
    outcome = perfprobe([*RECORD, "main.py", str(nvtx_library)], tmp_path)
    assert outcome.status == 0, outcome.err
    named = [row for row in ranged.rows(tmp_path / "run.perfprobe") if "dnnl" not in row.domain]
    rows = {row.name: row for row in named}
    assert len(named) == len(rows)  # none is recorded twice
    assert {name: (row.domain, row.source, row.kind) for name, row in rows.items()} == {
        "c++": ("", "NVTX", "NESTED"),
        "package": ("a domain", "NVTX", "NESTED"),
        "mine": ("", "PERFPROBE", "NESTED"),
        "itt": ("PyTorch", "ITT", "NESTED"),
        "free": ("", "NVTX", "FREE"),
        "wide": ("", "NVTX", "NESTED"),
        "a mark": ("", "NVTX", "MARK"),
        "never ended": ("", "NVTX", "NESTED"),
    }
    for name, (begun, started, ending, ended) in json.loads(outcome.out).items():
        assert begun <= rows[name].start_ns <= started, name
        assert rows[name].end_ns is not None, name
        assert ending <= rows[name].end_ns <= ended, name
    assert rows["never ended"].end_ns is None
    assert rows["a mark"].end_ns == rows["a mark"].start_ns
    if torch.backends.mkldnn.is_available():
        check_onednn(tmp_path / "run.perfprobe", rows["itt"])


def check_onednn(recording: Path, around: ranged.Row) -> None:
    primitives = [row for row in ranged.rows(recording) if row.domain == "dnnl::primitive::execute"]
    assert [row.name for row in primitives].count("convolution") == 1
    assert all(row.start_ns >= around.start_ns for row in primitives)
    assert all((row.end_ns or 0) <= (around.end_ns or 0) for row in primitives)


def test_tasks_of_the_package_ittapi_are_recorded(tmp_path: Path) -> None:
    pytest.importorskip("ittapi")
    (tmp_path / "main.py").write_text(
        "import ittapi\n"
        "first = ittapi.task('first', domain='d', overlapped=True)\n"
        "second = ittapi.task('second', domain='d', overlapped=True)\n"
        "first.begin(), second.begin(), first.end(), second.end()\n"
        "with ittapi.task('outer', domain='d'):\n"
        "    with ittapi.task('inner', domain='other'): pass\n"
    )
    assert perfprobe([*RECORD, "main.py"], tmp_path).status == 0
    rows = ranged.rows(tmp_path / "run.perfprobe")
    assert {row.source for row in rows} == {"ITT"}
    first, second, outer, inner = [(row.start_ns, row.end_ns or 0) for row in rows]
    assert [(row.name, row.domain, row.kind) for row in rows] == [
        ("first", "d", "FREE"),
        ("second", "d", "FREE"),
        ("outer", "d", "NESTED"),
        ("inner", "other", "NESTED"),
    ]
    assert first < second < (first[1], second[1]) < outer < inner
    assert inner[1] < outer[1]


THREADS = """\
import ctypes, sys, threading, time
import perfprobe
client = ctypes.CDLL(sys.argv[1])
together = threading.Barrier(3)
shared = perfprobe.range("shared")
def work(number):
    client.client_push(b"outer %d" % number)
    together.wait()
    with shared:
        for _ in range(4000):
            client.client_push(b"inner"); client.client_pop()
        together.wait()
    client.client_pop()
threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_ranges_of_several_threads(tmp_path: Path, nvtx_library: Path) -> None:
    (tmp_path / "main.py").write_text(THREADS)
    assert perfprobe([*RECORD, "main.py", str(nvtx_library)], tmp_path).status == 0
    rows = ranged.rows(tmp_path / "run.perfprobe")
    outer = {row.thread: row for row in rows if row.name.startswith("outer")}
    assert len(outer) == 3
    for thread, row in outer.items():
        inner = [each for each in rows if each.thread == thread and each.name == "inner"]
        shared = [each for each in rows if each.thread == thread and each.name == "shared"]
        assert len(inner) == 4000
        assert [each.kind for each in shared] == ["NESTED"]
        assert row.start_ns <= inner[0].start_ns
        assert (inner[-1].end_ns or 0) <= (row.end_ns or 0)
    assert len(rows) == 3 * 4002


PROCESSES = """\
import multiprocessing, os, subprocess, sys
import perfprobe
def work(name):
    with perfprobe.range(name):
        return sorted(key for key in os.environ if "NVTX" in key or "ITT" in key)
if __name__ == "__main__":
    print(work("parent"))
    if os.fork() == 0:
        with perfprobe.range("left alone"): os._exit(0)
    os.wait()
    for method in ("spawn", "fork"):
        pool = multiprocessing.get_context(method).Pool(1)
        print(pool.map(work, ["forked" if method == "fork" else "spawned"]))
        pool.close(), pool.join()
    child = "import ctypes; client = ctypes.CDLL(%r); print(client.client_push(b'x'), client.client_pop())"
    subprocess.run([sys.executable, "-c", child % sys.argv[1]], check=True)
"""


def test_ranges_of_child_processes(tmp_path: Path, nvtx_library: Path) -> None:
    (tmp_path / "main.py").write_text(PROCESSES)
    quiet = {"PYTHONWARNINGS": "ignore:This process:DeprecationWarning"}
    pair = both(["main.py", str(nvtx_library)], tmp_path, environment=quiet)
    assert (pair.recorded.status, pair.recorded.out) == (pair.plain.status, pair.plain.out), pair.recorded.err
    assert [row.name for row in ranged.rows(pair.recording)] == ["parent"]
    children = tmp_path.glob("recorded-children/*.perfprobe")
    assert sorted(row.name for child in children for row in ranged.rows(child)) == ["forked", "spawned"]


ENVIRONMENT = """\
import os, subprocess, sys
def show(): print(sorted((key, value) for key, value in os.environ.items() if "NVTX" in key or "ITT" in key))
show()
code = "import os; print(os.environ.get('NVTX_INJECTION64_PATH'), os.environ.get('INTEL_LIBITTNOTIFY64'))"
if sys.argv[1:] == ["child"]: subprocess.run([sys.executable, "-c", code], check=True)
"""


def test_the_programs_environment_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(ENVIRONMENT)
    pair = both(["main.py"], tmp_path)
    assert pair.recorded.out == pair.plain.out
    outcome = perfprobe(["-q", "-o", "child.perfprobe", "main.py", "child"], tmp_path)
    assert outcome.out.splitlines()[1].decode() == f"{native.injection()} {native.injection()}"


def test_another_tool_is_not_replaced(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "main.py").write_text(ENVIRONMENT)
    given = dict.fromkeys(VARIABLES, "/opt/tool/listener.so")
    pair = both(["main.py", "child"], tmp_path, environment=given)
    assert pair.recorded.out == pair.plain.out
    snapshot("\n".join(ranged.losses(pair.recording)))


def test_ranges_off_records_no_ranges(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "main.py").write_text(ENVIRONMENT)
    pair = both(["main.py"], tmp_path)
    outcome = perfprobe(["-q", "--ranges", "off", "-o", "off.perfprobe", "main.py", "child"], tmp_path)
    assert outcome.out.splitlines()[1] == b"None None"
    assert ranged.losses(pair.recording) == []
    snapshot("\n".join(ranged.losses(tmp_path / "off.perfprobe")))


def test_names_beyond_the_limit_are_a_loss(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import perfprobe\nfor i in range(66_000):\n    with perfprobe.range(f'name {i}'): pass\n"
    )
    assert perfprobe([*RECORD, "main.py"], tmp_path).status == 0
    others = [row for row in ranged.rows(tmp_path / "run.perfprobe") if row.name == "(other)"]
    missing = storage.read(tmp_path / "run.perfprobe")[Losses]
    counts = zip(missing.reason, missing.count, strict=True)
    assert [count for reason, count in counts if "(other)" in reason] == [len(others)] != [0]


def test_a_killed_program_keeps_its_ranges(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import sys, time, perfprobe\n"
        "for _ in range(3):\n"
        "    with perfprobe.range('done'): pass\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = start(["-m", "perfprobe", *RECORD, "main.py"], tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    wait_for_rows(tmp_path / "run.perfprobe", 3)
    os.kill(process.pid, signal.SIGKILL)
    assert finish(process).status == -signal.SIGKILL
    assert [row.name for row in ranged.rows(tmp_path / "run.perfprobe")] == ["done"] * 3


def wait_for_rows(path: Path, count: int) -> None:
    import time

    for _ in range(400):
        if len(ranged.rows(path)) >= count:
            return
        time.sleep(0.05)
    raise AssertionError("the ranges did not reach the disk")


BLOCKS = """\
import os, sys
import {first}
import perfprobe
for path in sys.argv[1:]:
    with perfprobe.profile(path, python="off"):
        with perfprobe.range(path): pass
    assert os.environ.get("NVTX_INJECTION64_PATH") is None
os.system('echo "[$NVTX_INJECTION64_PATH$INTEL_LIBITTNOTIFY64]"')
"""


@pytest.mark.parametrize("first", ["torch", "nvtx", "json"])
def test_ranges_of_blocks_of_a_running_program(first: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(first) is None:
        pytest.skip(f"{first} is not installed")
    (tmp_path / "main.py").write_text(BLOCKS.format(first=first))
    outcome = finish(start(["main.py", "one.perfprobe", "two.perfprobe"], tmp_path))
    assert (outcome.status, outcome.out) == (0, b"[]\n"), outcome.err
    for name in ("one.perfprobe", "two.perfprobe"):
        assert [row.name for row in ranged.rows(tmp_path / name)] == [name]
        said = [loss.split(" ranges")[0] for loss in ranged.losses(tmp_path / name)]
        assert said == {"torch": ["ITT"], "nvtx": ["NVTX"], "json": []}[first]
