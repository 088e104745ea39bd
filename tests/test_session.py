from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

import perfprobe
from perfprobe import native
from perfprobe.collect import host
from perfprobe.collect.operators import OperatorCollector
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.recording import Recording
from tests.snapshots import Snapshot


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    # The result must not depend on whether another test has imported torch in this process.
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def losses(recording: Recording) -> list[tuple[str, str]]:
    table = recording[Losses]
    return [(table.source[row], table.reason[row]) for row in range(len(table))]


def test_a_block_is_recorded_with_all_facts(tmp_path: Path) -> None:
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path, cpu_time=True, buffer_bytes=8 << 20) as profiled:
        assert profiled.path == str(path)
    recording = storage.read(path)
    assert recording.complete
    options = {"operators": "observer", "cpu_time": "outermost", "buffer_bytes": 8 << 20, "memory": False}
    gpu = {
        "gpu": "auto",
        "gpu_links": "time",
        "gpu_graphs": "nodes",
        "ranges": True,
        "emit": None,
        "keep_argv": False,
        "children": True,
    }
    windows = {"steps": None, "repeat": 1, "duration": None, "exit_after": False, "wait": False}
    gpu |= {"native": False, "counters": False}
    long = {"baseline": 0, "budget": "off", "keep": "all", "rotate": 0}
    steps = {
        **windows,
        **long,
        "benchmark": False,
        "warmup": 10,
        "every_step_line": None,
        "tries": [],
        "results": False,
    }
    assert recording.fact("recording") == {**options, "python": "both", "detail": None, **gpu, **steps}
    assert recording.fact("program", "pid") == os.getpid()
    assert recording.fact("program", "argv") == sys.argv
    assert recording.fact("versions", "perfprobe") == perfprobe.__version__
    assert recording.fact("versions", "python") == sys.version.split()[0]
    assert recording.fact("host", "name") == os.uname().nodename
    assert recording.fact("stop", "exit") == "returned"
    start, stop = recording.number("start", "monotonic_ns"), recording.number("stop", "monotonic_ns")
    assert start is not None
    assert stop is not None
    assert start <= stop
    assert recording.fact("torch") is None
    assert any(source == "operators" and "never imported" in reason for source, reason in losses(recording))


def test_a_recording_says_which_cpu_times_it_has(tmp_path: Path) -> None:
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path, detail="bench"):
        pass
    recording = storage.read(path)
    assert recording.fact("recording", "detail") == "bench"
    assert recording.fact("recording", "cpu_time") == "all"


def test_emitting_without_operators_is_a_loss(tmp_path: Path, snapshot: Snapshot) -> None:
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path, python="off", emit="nvtx"):
        pass
    said = [loss for loss in losses(storage.read(path)) if loss[0] in ("emit", "operators")]
    snapshot("\n".join(map(": ".join, said)))


def test_recorded_time_excludes_perfprobes_start_and_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, stopped = [], []
    monkeypatch.setattr(OperatorCollector, "start", lambda self: started.append(host.moment()))
    monkeypatch.setattr(OperatorCollector, "stop", lambda self: stopped.append(host.moment()))
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path):
        pass
    recording = storage.read(path)
    for clock in ("monotonic_ns", "cpu_ns"):
        first, last = recording.number("start", clock), recording.number("stop", clock)
        assert first is not None
        assert last is not None
        assert started[0][clock] <= first <= last <= stopped[0][clock]


def test_several_recordings_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = []
    for _ in range(3):
        with perfprobe.profile() as profiled:
            pass
        paths.append(profiled.path)
    assert len(set(paths)) == 3
    assert all(storage.read(path).complete for path in paths)


def test_recordings_do_not_nest(tmp_path: Path) -> None:
    outer = tmp_path / "outer.perfprobe"
    with (
        perfprobe.profile(outer),
        pytest.raises(UsageError, match=f"recorded already: {outer}"),
        perfprobe.profile(tmp_path / "inner"),
    ):
        pass
    assert storage.read(outer).complete
    assert not (tmp_path / "inner").exists()


def test_only_one_of_several_concurrent_blocks_records(tmp_path: Path) -> None:
    threads, rounds = 8, 20
    gate = threading.Barrier(threads)
    outcomes: list[str] = []

    def enter(number: int, at: int) -> None:
        gate.wait()
        try:
            with perfprobe.profile(tmp_path / f"{at}-{number}.perfprobe", operators="off", python="off"):
                gate.wait()
            outcomes.append("recorded")
        except UsageError as error:
            gate.wait()
            outcomes.append(error.what)

    for at in range(rounds):
        entering = [threading.Thread(target=enter, args=(number, at)) for number in range(threads)]
        for thread in entering:
            thread.start()
        for thread in entering:
            thread.join()
    assert outcomes.count("recorded") == rounds
    assert sum("recorded already" in outcome for outcome in outcomes) == rounds * (threads - 1)
    assert len(list(tmp_path.glob("*.perfprobe"))) == rounds


def test_a_block_object_cannot_be_entered_twice(tmp_path: Path) -> None:
    profiled = perfprobe.profile(tmp_path / "run.perfprobe", operators="off")
    with profiled, pytest.raises(UsageError, match="started before"), profiled:
        pass
    with pytest.raises(UsageError, match="started before"), profiled:
        pass


def anonymous_kib() -> int:
    """Anonymous memory of this process."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))


def test_blocks_do_not_leak_memory(tmp_path: Path) -> None:
    """Each block used to leak 40 KiB, and 280 KiB with operators and samples."""
    for at in range(80):
        with perfprobe.profile(tmp_path / f"{at}.perfprobe", operators="off"):
            pass
        if at == 29:
            before_kib = anonymous_kib()
    assert anonymous_kib() - before_kib < 50 * 16


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "run.perfprobe"
    path.write_text("precious")
    with pytest.raises(UsageError, match="exists already"), perfprobe.profile(path):
        pass
    assert path.read_text() == "precious"
    with perfprobe.profile(tmp_path / "next.perfprobe"):  # the failed one left no state
        pass


def test_an_exception_passes_and_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.perfprobe"
    with pytest.raises(KeyError), perfprobe.profile(path):
        raise KeyError(1)
    assert storage.read(path).fact("stop", "exit") == "KeyError"


def test_operators_can_be_left_out(tmp_path: Path, snapshot: Snapshot) -> None:
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path, operators="off"):
        pass
    # Not losses of ranges, as an earlier test may have used a client of a tool, nor of samples on every
    # Python.
    said = [loss for loss in losses(storage.read(path)) if loss[0] not in ("ranges", "samples")]
    snapshot("\n".join(map(": ".join, said)))


@pytest.mark.parametrize(
    "options", [{"operators": "kineto"}, {"buffer_bytes": 1 << 20}, {"memory": True, "operators": "off"}]
)
def test_unknown_values_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        perfprobe.profile("x", **options)  # type: ignore[arg-type]


def test_a_report_needs_an_ended_recording(tmp_path: Path) -> None:
    profiled = perfprobe.profile(tmp_path / "run.perfprobe")
    with pytest.raises(UsageError, match="nothing to report yet"):
        profiled.report()
    with profiled, pytest.raises(UsageError, match="nothing to report yet"):
        profiled.report()


def test_the_report_is_printed_to_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with perfprobe.profile(tmp_path / "run.perfprobe") as profiled:
        pass
    profiled.report(top=3, sort="calls")
    printed = capsys.readouterr().out
    assert "never imported" in " ".join(printed.split())


def test_an_error_of_a_collector_is_a_loss_and_not_an_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: OperatorCollector) -> None:
        raise RuntimeError("broken\nin two lines")

    monkeypatch.setattr(OperatorCollector, "start", fail)
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path):
        pass
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("perfprobe: operators: RuntimeError: broken in two")
    assert "(test_session.py:" in line
    assert ("operators", line.removeprefix("perfprobe: operators: ")) in losses(storage.read(path))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the writer is a thread
def test_a_forked_child_does_not_record(tmp_path: Path) -> None:
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path) as profiled:
        child = os.fork()
        if child == 0:
            profiled.__exit__(None, None, None)
            os._exit(0)
        os.waitpid(child, 0)
    recording = storage.read(path)
    assert recording.complete
    assert recording.stopped_at is None
    assert any(source == "processes" and "forked" in reason for source, reason in losses(recording))


def test_a_missing_recorder_raises_environment_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise EnvironmentLack("nothing can be recorded", "perfprobe._core was not built", "rebuild it")

    monkeypatch.setattr(native, "core", missing)
    with pytest.raises(EnvironmentLack), perfprobe.profile(tmp_path / "run.perfprobe"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_public_names() -> None:
    assert set(perfprobe.__all__) <= set(dir(perfprobe))
    assert all(getattr(perfprobe, name) is not None for name in perfprobe.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        perfprobe.nothing  # noqa: B018
