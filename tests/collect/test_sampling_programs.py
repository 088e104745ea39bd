"""Programs behave under the sampler as under plain python, and their recordings are complete."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

import perfprobe
from perfprobe import _core
from perfprobe.collect.sampling import SamplerCollector
from perfprobe.support.errors import EnvironmentLack
from perfprobe.tables import storage
from perfprobe.tables.events import Losses, Threads
from perfprobe.tables.python import Samples
from perfprobe.tables.recording import Recording
from tests.collect.runs import finish, start

supported = pytest.mark.skipif(_core.sampler_missing() is not None, reason=str(_core.sampler_missing()))

PROGRAMS = {
    "signals": """
        import os, signal, time
        def handler(number, frame):
            seen.append(number)
        seen = []
        signal.signal(signal.SIGALRM, handler)
        signal.signal(signal.SIGPROF, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        time.sleep(0.3)
        print("alarms", seen)
        seen.clear()
        signal.setitimer(signal.ITIMER_PROF, 0.05)
        while not seen:
            sum(range(1000))
        print("profiling timer", set(seen), signal.getsignal(signal.SIGPROF) is handler)
        """,
    "interrupted": """
        import os, signal, threading, time
        def handler(number, frame):
            raise InterruptedError("by its own signal")
        signal.signal(signal.SIGUSR1, handler)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        reading, writing = os.pipe()
        try:
            os.read(reading, 1)
        except InterruptedError as error:
            print("read ended", error)
        """,
    "forks": """
        import os, sys, threading
        pids = []
        for number in range(5):
            pid = os.fork()
            if pid == 0:
                print("child", len(os.listdir("/proc/self/task")), flush=True)
                os._exit(number)
            pids.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        print("parent", pids)
        """,
    "forks from threads": """
        import os, threading
        def fork():
            for number in range(5):
                pid = os.fork()
                if pid == 0:
                    os._exit(3)
                codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        codes = []
        threads = [threading.Thread(target=fork) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(codes)
        """,
    "exit code": "import sys; sys.exit(7)",
    "os._exit": "import os, time; time.sleep(0.1); os._exit(5)",
    "exec": "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'print(1)'])",
    "thread at exit": """
        import threading, time
        def work():
            time.sleep(0.2)
            print("thread is done")
        threading.Thread(target=work).start()
        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
        print("main is done")
        """,
    "closed descriptors": """
        import os
        os.closerange(3, 64)
        print(os.open("/dev/null", os.O_RDONLY))
        """,
}


@supported
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_behaves_as_under_plain_python(tmp_path: Path, name: str) -> None:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAMS[name]), encoding="utf-8")
    options = ["-m", "perfprobe", "-q", "-o", "r.perfprobe", "--operators", "off", "--python", "sample"]
    # Python 3.12 warns about a fork with threads; perfprobe's must not cause that.
    flags = ["-W", {"forks": "error", "forks from threads": "ignore"}.get(name, "default")]
    plain = start([*flags, "program.py"], tmp_path)
    sampled = start([*flags, *options, "program.py"], tmp_path)
    right, ours = finish(plain), finish(sampled)
    assert (ours.status, ours.out, ours.err) == (right.status, right.out, right.err)
    recording = storage.read(tmp_path / "r.perfprobe")
    if name not in ("os._exit", "exec"):
        assert recording.complete
        assert len(recording[Samples])


@supported
def test_a_killed_program_keeps_its_samples(tmp_path: Path) -> None:
    source = (
        "import os, time\nend = time.time() + 1.2\nwhile time.time() < end: pass\nos.kill(os.getpid(), 9)"
    )
    (tmp_path / "program.py").write_text(source, encoding="utf-8")
    words = ["-m", "perfprobe", "-q", "-o", "r.perfprobe", "--operators", "off", "--python", "sample"]
    assert finish(start([*words, "program.py"], tmp_path)).status == -9
    recording = storage.read(tmp_path / "r.perfprobe")
    assert not recording.complete
    assert len(recording[Samples])


@supported
def test_perfprobes_threads_take_no_signals_and_are_not_sampled(tmp_path: Path) -> None:
    blocked = {}
    with perfprobe.profile(tmp_path / "r.perfprobe", operators="off", python="sample"):
        for task in os.listdir("/proc/self/task"):
            status = Path(f"/proc/self/task/{task}/status").read_text()
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            if fields["Name"] == "perfprobe-own":
                blocked[int(task)] = int(fields["SigBlk"], 16)
        sum(range(1_000_000))
    every = (
        ~(1 << 8 | 1 << 18 | 3 << 31) & (1 << 64) - 1
    )  # those that can never be blocked, and those of glibc
    every &= ~(
        1 << signal.SIGRTMAX - 1
    )  # a thread that waits for its timer (sigtimedwait) shows it as unblocked
    assert len(blocked) == 2
    assert all(mask & every == every for mask in blocked.values())
    recording = storage.read(tmp_path / "r.perfprobe")
    sampled = recording[Threads].os_thread[recording[Samples].thread]
    assert not blocked.keys() & set(sampled.tolist())


def recorded(folder: Path, python: str) -> Recording:
    path = folder / f"{python}.perfprobe"
    with perfprobe.profile(path, operators="off", python=python):
        sum(range(1000))
    return storage.read(path)


@supported
@pytest.mark.parametrize(("python", "samples"), [("sample", True), ("both", True), ("off", False)])
def test_samples_are_recorded_on_request(tmp_path: Path, python: str, samples: bool) -> None:
    recording = recorded(tmp_path, python)
    assert (len(recording[Samples]) > 0) == samples
    assert (recording.number("sampler", "looks") is not None) == samples
    if samples:
        assert recording.fact("python_threads", str(os.getpid())) == "MainThread"


def test_unsupported_sampling_is_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = EnvironmentLack("it cannot be", "a reason", "a remedy")
    monkeypatch.setattr(SamplerCollector, "available", lambda self: missing)
    losses = recorded(tmp_path, "sample")[Losses]
    rows = zip(losses.source, losses.reason, losses.remedy, strict=True)
    assert [remedy for source, reason, remedy in rows if source == "samples" and "a reason" in reason] == [
        "a remedy"
    ]


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="it is supported here")
def test_an_old_python_is_reported_as_unsupported() -> None:
    assert "Python 3.10" in str(_core.sampler_missing())


@supported
@pytest.mark.alone
def test_a_program_with_one_thread_has_no_other(tmp_path: Path) -> None:
    """Even if the writer asks the main thread, which makes no calls, to settle its costs."""
    with perfprobe.profile(tmp_path / "r.perfprobe", operators="off", python="both"):
        until = time.monotonic() + 1.4
        while time.monotonic() < until:
            for number in range(3_000_000):
                number & 7
    recording = storage.read(tmp_path / "r.perfprobe")
    assert set(recording[Threads].os_thread[recording[Samples].thread].tolist()) == {os.getpid()}
