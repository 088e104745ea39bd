"""When GPU recording starts, and which torch functions it hooks, with a made-up torch."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from perfprobe import native
from perfprobe.collect.base import Facts
from perfprobe.collect.gpu import _CLOCK_LOSSES, _LOSSES, GpuCollector
from perfprobe.collect.options import Options
from perfprobe.collect.profiler_watch import MONITOR, ProfilerWatch
from tests.snapshots import Snapshot


class Recorder:
    """Takes the data of collectors."""

    def __init__(self) -> None:
        self.losses: list[tuple[str, str, int, str]] = []
        self.meta: dict[str, str] = {}

    def capsule(self) -> None:
        return None

    def add_meta(self, key: str, value: str) -> None:
        self.meta[key] = value

    def add_loss(self, source: str, reason: str, count: int, remedy: str) -> None:
        self.losses.append((source, reason, count, remedy))


class Session:
    """Replaces the native session. `made` lists all instances."""

    made: list[Session]
    refusal: tuple[str, str] | None = None
    figures: dict[str, Any]  # of its stop, if they are not 0
    faults: dict[str, str]

    def __init__(
        self, recorder: object, major: int, packages: list[str], with_ids: bool, graphs: str
    ) -> None:
        self.major, self.packages, self.with_ids, self.graphs = major, packages, with_ids, graphs
        self.stopped = False
        Session.made.append(self)

    def start(self) -> tuple[str, str] | None:
        return Session.refusal

    def facts(self) -> dict[str, Any]:
        return {
            "library": "libcupti.so.13",
            "devices": [{"name": "GPU"}],
            "lacks": [],
            "faults": Session.faults,
        }

    def external_ids(self) -> str:
        return "ids"

    def totals(self) -> dict[str, Any]:
        return {"kernels": (0, 0, 0), "copies": [(0, 0, 0)] * 11, "fills": (0, 0, 0)}

    def stop(self) -> dict[str, Any]:
        self.stopped = True
        names = (*_LOSSES, *_CLOCK_LOSSES, "broken", "unfinished")
        return {
            **dict.fromkeys(names, 0),
            "state_lack": None,
            "canary": True,
            "context": True,
            **Session.figures,
        }


class Torch:
    """The parts of a torch with CUDA that are used. `module` is what the program has imported."""

    def __init__(
        self, cuda: str | None = "13.0", hip: str | None = None, *, initialised: bool = False
    ) -> None:
        self.initialised, self.has_driver = initialised, True
        cuda_module = SimpleNamespace(
            is_initialized=lambda: self.initialised,
            device_count=lambda: 3,
            get_device_name=lambda device: f"GPU {device}",
        )
        self.internals: Any = SimpleNamespace(_cuda_init=self.initialise)
        activity = SimpleNamespace(CPU=1, CUDA=2)
        self.profiler: Any = SimpleNamespace(_prepare_profiler=lambda *given, **named: (given, named))
        self.module = ModuleType("torch")
        vars(self.module).update(
            __spec__=SimpleNamespace(_initializing=False),
            __file__="/packages/torch/__init__.py",
            version=SimpleNamespace(cuda=cuda, hip=hip),
            cuda=cuda_module,
            _C=self.internals,
            autograd=SimpleNamespace(profiler=self.profiler, ProfilerActivity=activity),
        )

    def initialise(self) -> str:
        if not self.has_driver:
            raise RuntimeError("Found no NVIDIA driver on your system")
        self.initialised = True
        return "initialised"


class Trial:
    """A collector with a made-up torch, and its output."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, torch: Torch, by_profiler: bool | None = None, **options: Any
    ) -> None:
        Session.made, Session.refusal = [], None
        Session.figures, Session.faults = {}, {}
        core = SimpleNamespace(GpuSession=Session, is_gpu_driver_assumed=lambda: False)
        monkeypatch.setattr(native, "core", lambda: core)
        monkeypatch.setitem(sys.modules, "torch", torch.module)
        self.recorder = Recorder()
        self.said: list[str] = []
        self.ids: list[object] = []
        self.facts = Facts(self.recorder, self.said.append)  # type: ignore[arg-type]
        begun = lambda: self.ids.append("begun")  # noqa: E731
        self.collector = GpuCollector(
            self.facts, Options(**options), self.ids.append, begun, lambda: by_profiler
        )


def test_recording_starts_just_before_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = Torch()
    original = torch.internals._cuda_init
    trial = Trial(monkeypatch, torch)
    trial.collector.start()
    assert Session.made == []
    assert torch.internals._cuda_init is not original
    assert torch.internals._cuda_init() == "initialised"
    (session,) = Session.made
    assert (session.major, session.packages, session.with_ids) == (13, ["/packages"], False)
    assert torch.internals._cuda_init == original
    trial.collector.stop()
    assert session.stopped
    assert (trial.recorder.losses, trial.said) == ([], [])


def test_recording_starts_at_once_if_cuda_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, Torch(initialised=True), gpu_links="exact")
    trial.collector.start()
    assert Session.made[0].with_ids
    assert trial.ids == ["ids", "begun"]


def test_a_program_without_cuda_is_not_affected(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = Torch()
    original = torch.internals._cuda_init
    trial = Trial(monkeypatch, torch)
    trial.collector.start()
    trial.collector.stop()
    assert torch.internals._cuda_init == original
    assert Session.made == []
    assert (trial.said, trial.recorder.losses) == ([], [])
    assert "initialised CUDA" in trial.recorder.meta["gpu"]


def test_a_forked_child_that_initialises_cuda_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = Torch()
    Trial(monkeypatch, torch).collector.start()
    monkeypatch.setattr("perfprobe.collect.gpu.getpid", lambda: 1)
    assert torch.internals._cuda_init() == "initialised"
    assert Session.made == []


def test_an_error_of_cuda_reaches_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = Torch()
    torch.has_driver = False
    trial = Trial(monkeypatch, torch)
    trial.collector.start()
    monkeypatch.setattr(Session, "start", lambda self: 1 // 0)
    with pytest.raises(RuntimeError, match="Found no NVIDIA driver") as caught:
        torch.internals._cuda_init()
    files = {os.path.basename(frame.filename) for frame in traceback.extract_tb(caught.value.__traceback__)}
    if sys.version_info >= (3, 11):  # before 3.11 a frame cannot be removed
        assert files == {os.path.basename(__file__)}
    assert "ZeroDivisionError" in trial.said[0]


@pytest.fixture(autouse=True)
def finders() -> Iterator[None]:
    before = list(sys.meta_path)
    yield
    sys.meta_path[:] = before


@pytest.mark.parametrize("torch", [Torch(None), Torch(None, "6.2")])
@pytest.mark.parametrize(("gpu", "words"), [("auto", 0), ("cupti", 1)])
def test_torch_builds_without_nvidia_support(
    gpu: str, words: int, torch: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = Trial(monkeypatch, torch, gpu=gpu)
    trial.collector.start()
    trial.collector.stop()
    assert len(trial.said) == len(trial.recorder.losses) == words
    assert "is a build" in trial.recorder.meta["gpu"]


def test_refusals_of_cupti_are_always_reported(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot) -> None:
    trial = Trial(monkeypatch, Torch(initialised=True))
    Session.refusal = ("another tool uses CUPTI already: Nsight", "run without that tool")
    trial.collector.start()
    trial.collector.stop()
    (line,) = trial.said
    assert len(trial.recorder.losses) == 1
    assert trial.collector.counters() is None
    snapshot(line)


@pytest.mark.parametrize("gpu", ["auto", "cupti"])
def test_the_autograd_profiler_keeps_cupti(gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It records the GPU itself, so nothing needs to be reported."""
    trial = Trial(monkeypatch, Torch(initialised=True), True, operators="both", gpu=gpu)
    trial.collector.start()
    trial.collector.stop()
    assert (Session.made, trial.said, trial.recorder.losses) == ([], [], [])
    assert trial.ids == ["begun"]
    devices = [{"name": f"GPU {device}"} for device in range(3)]
    assert json.loads(trial.recorder.meta["gpu"]) == {"source": "the autograd profiler", "devices": devices}


def test_exact_links_are_impossible_with_the_autograd_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, Torch(initialised=True), True, operators="both", gpu_links="exact")
    trial.collector.start()
    (loss,) = trial.recorder.losses
    assert "exact links" in str(loss)


def test_an_autograd_profiler_that_sees_no_gpu_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, Torch(initialised=True), False, operators="both")
    trial.collector.start()
    assert Session.made == []
    assert "autograd profiler" in trial.said[0]


def test_errors_of_cupti_are_losses(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot) -> None:
    told = []
    for figure in ("refused_buffers", "lent_buffers", "shifted", "foreign_times"):
        trial = Trial(monkeypatch, Torch(initialised=True))
        Session.figures, Session.faults = {figure: 3}, {"clock": "newer CUDA"}
        trial.collector.start()
        trial.collector.stop()
        ((source, reason, count, remedy),) = trial.recorder.losses
        assert (source, count) == ("gpu", 3)
        told.append(f"{figure}: {reason}: {remedy}")
    snapshot("\n".join(told))


def test_work_that_did_not_end_is_a_loss(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot) -> None:
    trial = Trial(monkeypatch, Torch(initialised=True))
    Session.figures = {"unfinished": True, "canary": False}
    trial.collector.start()
    trial.collector.stop()
    (loss,) = trial.recorder.losses
    snapshot(str(loss))


def test_torchs_own_monitor_of_the_gpu_is_named(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot) -> None:
    monitor = ModuleType(MONITOR)
    vars(monitor)["get_monitor"] = object
    monkeypatch.setitem(sys.modules, MONITOR, monitor)
    trial = Trial(monkeypatch, Torch(initialised=True))
    Session.refusal = ("a tool in this process uses CUPTI's newer interface", "run without that tool")
    trial.collector.start()
    (line,) = trial.said
    snapshot(line)


def test_torchs_own_monitor_that_starts_later_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = ModuleType(MONITOR)
    vars(monitor).update(
        start_collection=lambda folder: folder, __spec__=SimpleNamespace(_initializing=False)
    )
    monkeypatch.setitem(sys.modules, MONITOR, monitor)
    torch = Torch()
    trial = Trial(monkeypatch, torch)
    ProfilerWatch(trial.facts, torch.module).start()
    assert monitor.start_collection("out") == "out"
    assert MONITOR in trial.said[0]
    assert len(trial.recorder.losses) == 1


def test_unknown_clock_faults_ask_for_a_bug_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial = Trial(monkeypatch, Torch(initialised=True))
    Session.figures = {"foreign_times": 1}
    trial.collector.start()
    trial.collector.stop()
    assert "report this" in str(trial.recorder.losses)


def test_missing_buffers_are_a_loss_only_if_a_gpu_was_used(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, Torch(initialised=True))
    Session.figures = {"lent_buffers": 1, "context": False}
    trial.collector.start()
    trial.collector.stop()
    assert trial.recorder.losses == []


def test_a_teardown_of_cupti_causes_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEARDOWN_CUPTI", "1")
    trial = Trial(monkeypatch, Torch(initialised=True))
    trial.collector.start()
    assert "TEARDOWN_CUPTI" in trial.said[0]


@pytest.mark.parametrize(
    ("version", "until"),
    [
        ("2.11.0+cu130", "and gets none until the process ends"),
        ("2.13.0", "and gets perhaps none until the process ends"),
    ],
)
def test_the_warning_says_how_long_the_programs_profiler_misses_the_gpu(
    version: str, until: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = Torch()
    vars(torch.module)["__version__"] = version
    trial = Trial(monkeypatch, torch)
    ProfilerWatch(trial.facts, torch.module).start()
    torch.profiler._prepare_profiler("config", {2})
    assert until in trial.said[0]
    assert "--gpu off" in trial.said[0]


def test_there_is_one_warning_about_the_programs_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = Torch()
    original = torch.profiler._prepare_profiler
    trial = Trial(monkeypatch, torch)
    watch = ProfilerWatch(trial.facts, torch.module)
    watch.start()
    prepare = torch.profiler._prepare_profiler
    assert prepare("config", {1}) == (("config", {1}), {})
    assert trial.said == []
    assert prepare("config", {1, 2}, filter=3) == (("config", {1, 2}), {"filter": 3})
    prepare("config", {2})
    assert len(trial.said) == len(trial.recorder.losses) == 1
    watch.stop()
    assert torch.profiler._prepare_profiler is original
