"""Replacements of functions that launch GPU work, with a made-up torch and Triton."""

from __future__ import annotations

import gc
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from perfprobe import native
from perfprobe.collect import launches
from perfprobe.collect.base import Facts
from perfprobe.collect.launches import KernelNames, LaunchCalls
from perfprobe.support.errors import EnvironmentLack
from tests.snapshots import Snapshot


class Recorder:
    def __init__(self) -> None:
        self.losses: list[tuple[str, str, int, str]] = []

    def add_loss(self, *loss: Any) -> None:
        self.losses.append(loss)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def torch_module() -> Any:
    class Graph:
        def replay(self) -> str:
            return "replayed"

    waiting = {"synchronize": lambda self: "waited"}
    stream, event = type("Stream", (), waiting), type("Event", (), waiting)
    return SimpleNamespace(
        version=SimpleNamespace(cuda="13.0"),
        cuda=SimpleNamespace(CUDAGraph=Graph, Stream=stream, Event=event),
        _C=SimpleNamespace(_cuda_synchronize=len, _accelerator_synchronizeDevice=len),
    )


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Inductor's module of Triton kernels and Triton's module, as imported by the program."""

    class JITFunction:
        def __init__(self, name: str) -> None:
            self.__name__ = name

        def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> str:
            return f"{args} {grid} {warmup} {kwargs}"

    class CachingAutotuner:
        def run(self, *args: Any, stream: int, benchmark_run: bool = False, **kwargs: Any) -> None:
            pass

        def bench(self, launcher: Any, *args: Any, with_profiler: bool = False, **kwargs: Any) -> float:
            return 1.0

    made: dict[str, Any] = {launches.INDUCTORS: CachingAutotuner, "triton.runtime.jit": JITFunction}
    for name, kind in made.items():
        module = ModuleType(name)
        setattr(module, kind.__name__, kind)
        module.__spec__ = SimpleNamespace(_initializing=False)  # type: ignore[assignment]
        monkeypatch.setitem(sys.modules, name, module)
    return made


def calls(recorder: Recorder, module: Any, names: KernelNames | None = None) -> LaunchCalls:
    try:
        wrap = native.observer(torch).recorded_method
    except EnvironmentLack as missing:
        pytest.skip(str(missing))
    facts = Facts(recorder, tell=lambda line: None)  # type: ignore[arg-type]
    return LaunchCalls(facts, module, wrap, names or KernelNames())


def state(module: Any, modules: dict[str, Any]) -> list[dict[str, Any]]:
    cuda = module.cuda
    kinds = [cuda.CUDAGraph, cuda.Stream, cuda.Event, *modules.values()]
    return [dict(vars(place)) for place in (module._C, *kinds)]


def test_all_functions_are_restored(recorder: Recorder, torch_module: Any, modules: dict[str, Any]) -> None:
    before = state(torch_module, modules)
    watched = calls(recorder, torch_module)
    watched.start()
    changed = [
        name
        for old, new in zip(before, state(torch_module, modules), strict=True)
        for name in old
        if old[name] is not new[name]
    ]
    assert sorted(changed) == [
        *("_accelerator_synchronizeDevice", "_cuda_synchronize", "bench", "replay", "run", "run"),
        *("synchronize", "synchronize"),
    ]
    assert torch_module.cuda.CUDAGraph().replay() == "replayed"
    assert torch_module.cuda.Stream().synchronize() == "waited"
    assert torch_module._C._cuda_synchronize("abc") == 3
    run = modules["triton.runtime.jit"]("k").run
    assert run(1, grid=(2,), warmup=False, n=3) == "(1,) (2,) False {'n': 3}"
    watched.stop()
    for old, new in zip(before, state(torch_module, modules), strict=True):
        assert all(old[name] is new[name] for name in old)
    assert recorder.losses == []


def test_later_replacements_by_others_are_kept(recorder: Recorder, torch_module: Any) -> None:
    watched = calls(recorder, torch_module)
    watched.start()
    graph = torch_module.cuda.CUDAGraph
    theirs = graph.replay = lambda self: "theirs"
    watched.stop()
    assert graph.replay is theirs


@pytest.mark.parametrize("change", ["gone", "other kind"])
def test_functions_of_another_shape_are_one_loss(
    change: str, recorder: Recorder, torch_module: Any, modules: dict[str, Any], snapshot: Snapshot
) -> None:
    kind = modules[launches.INDUCTORS]
    if change == "gone":
        del kind.run, torch_module._C._cuda_synchronize
    else:
        kind.run, torch_module._C._cuda_synchronize = property(lambda self: len), object()
    watched = calls(recorder, torch_module)
    watched.start()
    modules["triton.runtime.jit"]("k").run(grid=(1,), warmup=False)
    watched.stop()
    reasons = [reason.partition(":")[0] for _, reason, _, _ in recorder.losses]
    assert all("2.15" in remedy for *_, remedy in recorder.losses)
    snapshot("\n".join(reasons))


def test_a_build_without_cuda_has_no_loss(recorder: Recorder, torch_module: Any) -> None:
    torch_module.version.cuda = None
    del torch_module._C._cuda_synchronize, torch_module.cuda.CUDAGraph
    watched = calls(recorder, torch_module)
    watched.start()
    watched.stop()
    assert recorder.losses == []


def test_names_live_as_long_as_their_kernels() -> None:
    class Kernel:
        pass

    names = KernelNames()
    first, second = Kernel(), Kernel()
    names.note(first, "one")
    names.note(second, "two")
    assert sorted(names.by_id.values()) == ["one", "two"]
    del first
    gc.collect()
    assert names.by_id == {id(second): "two"}


def tuner(**facts: Any) -> Any:
    return SimpleNamespace(fn=SimpleNamespace(__name__="triton_"), **facts)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (tuner(inductor_meta={"kernel_name": "triton_red_fused_sum_0"}), "inductor::triton_red_fused_sum_0"),
        (tuner(inductor_meta={}, custom_kernel=False), "inductor::triton_"),
        (tuner(inductor_meta={"kernel_name": "add_0"}, custom_kernel=True), "triton::add_0"),
    ],
)
def test_names_of_kernels_held_by_inductor(kernel: Any, name: str) -> None:
    assert launches.name_of_generated(kernel) == name
