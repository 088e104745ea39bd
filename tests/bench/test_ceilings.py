"""Measuring processes and how their results are combined."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from perfprobe import native
from perfprobe.bench import ceilings
from perfprobe.bench.ceilings import cache, device, processes, sweep
from perfprobe.bench.ceilings.gather import Gathered
from perfprobe.models.work import ELEMENT_KINDS
from perfprobe.support.errors import EnvironmentLack
from tests.snapshots import Snapshot

BOOT = "import json, sys; json.load(sys.stdin); "
PLAN = sweep.quick("cpu", (1,))


def row(kind: str, rate: float, what: str = "mm", **more: object) -> dict[str, object]:
    key = {"kind": kind, "dtype": "f32", "threads": 1, "what": what, "mix": "", "footprint_bytes": 0}
    return {**key, "rate": rate, **more}


def test_the_best_product_is_chosen_by_the_median_of_processes() -> None:
    gathered = Gathered("cpu")
    for small, large in ((1.0, 3.0), (9.0, 2.0), (2.0, 4.0)):
        gathered.add(row("gemm", small, "mm n=256"))
        gathered.add(row("gemm", large, "mm n=512"))
    (one,) = gathered.ceilings()
    assert (one.what, one.rate.value, one.rate.low, one.rate.high) == ("mm n=512", 3.0, 2.0, 4.0)


def test_noise_contention_and_late_results(snapshot: Snapshot) -> None:
    gathered = Gathered("cpu")
    for rate in (90.0, 100.0, 110.0):
        gathered.add(row("element", rate, "exp", wall_s=0.3, cpu_s=0.1))
    late = {name: value for name, value in row("element", 0.0, "log").items() if name != "rate"}
    gathered.add({"late": late})
    gathered.add({"late": {**late, "what": "exp"}})
    gathered.add({"missing": ["isa peak amx", "no such processor"]})
    assert gathered.noise() == pytest.approx(0.2)
    assert gathered.contention() == pytest.approx(3.0)
    snapshot("\n".join(f"{what}: {why}" for what, why in gathered.left_out()))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("sys.exit('it burst\\nall over')", "all over"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("raise RuntimeError('odd')", "RuntimeError: odd"),
    ],
)
def test_a_dying_process_is_reported_in_one_line(code: str, says: str) -> None:
    with pytest.raises(EnvironmentLack, match=says):
        list(processes.rows(PLAN, [sys.executable, "-c", BOOT + code]))


def test_a_missing_module_of_the_process_is_reported() -> None:
    code = """print('{"lack": ["no torch", "here", "install it"]}')"""
    with pytest.raises(EnvironmentLack, match="no torch: here; install it"):
        list(processes.rows(PLAN, [sys.executable, "-c", BOOT + code]))


def test_the_process_ends_if_nobody_reads_from_it() -> None:
    code = """import os, time; print('{"pid": %d}' % os.getpid(), flush=True); time.sleep(600)"""
    answers: Iterator[dict[str, int]] = processes.rows(PLAN, [sys.executable, "-c", BOOT + code])
    pid = next(answers)["pid"]
    answers.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_peaks_count_their_own_products() -> None:
    core = native.core()
    for name, dtype, instruction, missing in core.peak_kernels():
        assert name.startswith(dtype)
        assert instruction
        if missing:
            with pytest.raises(RuntimeError, match=missing.split()[0]):
                core.run_peak(name, 1)
        else:
            assert core.run_peak(name, 1000) == 1000 * core.run_peak(name, 1) > 0
    with pytest.raises(ValueError, match="no kernel"):
        core.run_peak("f32 abacus", 1)


def test_calls_for_gpus_can_be_made() -> None:
    """On the CPU with small operands here; 8-bit floats need a GPU."""
    torch = pytest.importorskip("torch")
    plan = replace(
        sweep.full("cuda:0", (1,)), device="cpu", sides=(32,), footprints=(1 << 16,), elements=1 << 10
    )
    cases = [case for group in device.groups(torch, plan) for case in group if case.dtype != "f8"]
    assert {case.kind for case in cases} == {"gemm", "bandwidth", "launch", "element"}
    assert {case.dtype for case in cases if case.kind == "gemm"} == {
        "f32",
        "tf32",
        "f64",
        "bf16",
        "f16",
        "i8",
    }
    for case in cases:
        case.make()()


def test_a_missing_gpu_is_reported() -> None:
    torch = pytest.importorskip("torch")
    name = f"cuda:{torch.cuda.device_count() if torch.cuda.is_available() else 0}"
    with pytest.raises(EnvironmentLack, match=name):
        ceilings.measured(device=name)


def test_a_short_measurement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    seen: list[tuple[int, int, str]] = []
    found = ceilings.measured(lambda *step: seen.append(step), threads=(1,), wanted=PLAN)
    kinds = {one.kind for one in found.ceilings}
    assert {"gemm", "bandwidth", "element", "dispatch"} <= kinds
    assert {one.what for one in found.ceilings if one.kind == "element"} >= set(ELEMENT_KINDS)
    rates = {one.kind: one.rate.value for one in found.ceilings if one.dtype == "f32"}
    print(f"{rates['gemm']:.3g} FLOP/s of {rates.get('isa peak', 0):.3g}")
    assert 1e8 < rates["gemm"] < 1e14
    assert 10 < rates["dispatch"] < 1e7
    assert all(one.rate.value > 0 for one in found.ceilings)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert seen[-1][0] == seen[-1][1]
    assert not (tmp_path / "perfprobe").exists()  # partial results are not kept
    assert found.key == cache.key("cpu")


def test_the_parent_does_not_import_torch() -> None:
    code = "import sys; import perfprobe.bench.ceilings as c; c.cached(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_interrupt_at_the_start_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Timer.start

    def interrupted(timer: threading.Timer) -> None:
        start(timer)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Timer, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(processes.rows(PLAN, [sys.executable, "-c", BOOT + "import time; time.sleep(1000)"]))
    assert all(one.daemon for one in threading.enumerate() if isinstance(one, threading.Timer))
