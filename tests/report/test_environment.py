from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from perfprobe.report.render.text import render
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import Trace
from tests.build import Program
from tests.report.test_text import findings
from tests.snapshots import Snapshot

MACHINE: dict[str, Any] = {
    "clock": {"monotonic_ns": 5, "realtime_ns": 1_700_000_000_000_000_000},
    "versions": {"python": "3.11.9", "perfprobe": "0.1.0", "torch": "2.13.0+cu128", "numpy": "2.1.0"},
    "torch": {
        "version": "2.13.0+cu128",
        "cuda": "12.8",
        "cuda_runtime": "12.8",
        "cudnn": "91.0",
        "debug": False,
        "blas": "mkl",
        "openmp": "OpenMP 4.5",
        "cpu_capability": "AVX512",
        "threads": 4,
        "interop_threads": 8,
        "devices": ["NVIDIA H200", "NVIDIA H200"],
    },
    "host": {
        "cpu_model": "Some   CPU @ 2.0GHz",
        "cores": 16,
        "cores_allowed": 8,
        "cgroup_cores": 2.5,
        "memory_bytes": 16 << 30,
        "kernel": "6.1.0",
    },
    "nvidia": {"driver": "570.86.15", "models": ["NVIDIA H200", "NVIDIA H200"]},
    "environment": {"OMP_NUM_THREADS": "4"},
    "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "branch": "main"},
}


def made(folder: Path, **meta: Any) -> Findings:
    return findings(Program(**meta).recording(folder))


def shown(found: Findings, width: int = 200) -> list[str]:
    lines = render(found, width=width).splitlines()
    start = lines.index("Environment") if "Environment" in lines else len(lines)
    end = lines.index("", start) if start < len(lines) else start
    return lines[start + 1 : end]


def test_all_facts_are_shown(tmp_path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    snapshot("\n".join(shown(made(tmp_path, **MACHINE), 400)))


@pytest.mark.parametrize("width", [40, 80, 120])
def test_lines_fit_the_width(tmp_path: Path, width: int) -> None:
    assert max(map(cell_len, shown(made(tmp_path, **MACHINE), width))) <= width


def test_a_machine_without_torch(tmp_path: Path, snapshot: Snapshot) -> None:
    host = {"cores": 2, "cores_allowed": 2}
    two = shown(made(tmp_path, host=host, versions={"python": "3.11.9"}))
    one = shown(made(tmp_path, host={"cores": 1}, gpus=["GPU-1"]))
    snapshot(two_cores="\n".join(two), one_core="\n".join(one))


def test_a_debug_build_is_named(tmp_path: Path, snapshot: Snapshot) -> None:
    snapshot("\n".join(shown(made(tmp_path, torch={"version": "2", "debug": True}))))


def test_without_facts_there_is_no_section(tmp_path: Path) -> None:
    assert shown(made(tmp_path)) == []


def test_malformed_facts_are_handled(tmp_path: Path) -> None:
    evil = "\x1b[2J" * 100
    strange: Any = [{}, 1, None, [evil], evil, {"x": evil, evil: evil, "version": evil}]
    for value in strange:
        found = made(tmp_path, **dict.fromkeys(MACHINE, value))
        assert isinstance(found.trace, Trace)
        for width in (40, 200):
            lines = shown(found, width)
            assert "\x1b" not in "".join(lines)
            assert all(cell_len(line) <= width for line in lines)
