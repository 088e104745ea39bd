from __future__ import annotations

from pathlib import Path

import pytest
import torch

import perfprobe
from perfprobe.collect.autograd.kineto import has_gpu_driver, refusal
from perfprobe.collect.options import Options
from perfprobe.support.strides import is_contiguous
from perfprobe.tables.strings import Strings
from tests.collect.recorded import one_thread, record


def test_own_allocations_equal_those_of_torch_profiler(tmp_path: Path) -> None:
    one_thread()
    x = torch.ones(64, 64, requires_grad=True)

    def run() -> None:
        (x @ x).relu().div(3).sum().backward()

    run()
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, acc_events=True
    ) as profiled:
        run()
    expected = {
        event.key: event.self_cpu_memory_usage for event in profiled.key_averages() if "aten::" in event.key
    }
    record(tmp_path / "run.perfprobe", run, operators="autograd", memory=True)
    from perfprobe.merge import link
    from perfprobe.tables import storage

    trace = link(storage.read(tmp_path / "run.perfprobe"))
    found: dict[str, int] = {}
    for batch in trace.operators():
        own = (batch.allocated_bytes - batch.freed_bytes).tolist()
        for name, size in zip(batch.name.tolist(), own, strict=True):
            key = trace.recording[Strings][name]
            found[key] = found.get(key, 0) + size
    assert {name: found[name] for name in expected} == expected
    assert expected["aten::mm"] >= 64 * 64 * 4


def test_memory_needs_operators() -> None:
    with pytest.raises(perfprobe.UsageError, match="leave out --operators off"):
        Options(operators="off", memory=True)
    for operators in ("observer", "autograd", "both"):
        assert Options(operators=operators, memory=True).memory


def test_gpu_events_are_recorded(tmp_path: Path) -> None:
    assert refusal(gpu_client=False) is None
    missing = refusal(gpu_client=True)
    assert missing is not None
    assert "CUPTI" in missing.where
    assert not has_gpu_driver(str(tmp_path))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.empty(2, 3),
        torch.empty(2, 3).t(),
        torch.empty(2, 1, 3)[:, :, ::2],
        torch.empty(0, 3).t(),
        torch.empty(1, 4).t(),
        torch.empty(()),
        torch.empty(3).expand(2, 3),
        torch.empty(2, 3, 4, 5, memory_format=torch.channels_last),
    ],
)
def test_contiguity_agrees_with_torch(tensor: torch.Tensor) -> None:
    assert is_contiguous(tensor.shape, tensor.stride()) == tensor.is_contiguous()
