"""Single parts of doctor, with their inputs replaced."""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfprobe import native
from perfprobe.bench.ceilings import cache
from perfprobe.doctor import examine, gpu, installation, machine, text, trial
from perfprobe.doctor.part import LACK, NOTE, OK, Part
from perfprobe.support import install
from perfprobe.support.errors import EnvironmentLack
from tests.bench import machines
from tests.snapshots import Snapshot, masked


def told(*parts: Part) -> str:
    """The parts as text, an empty field as a dash."""
    lines = [
        f"{part.part}: {part.state}\n  {part.found or '-'}\n  {part.why or '-'}\n  {part.remedy or '-'}"
        for part in parts
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "version", "state"),
    [
        ("cpython", (3, 9), LACK),
        ("cpython", (3, 10), OK),
        ("cpython", (3, 14), OK),
        ("cpython", (3, 15), LACK),
        ("pypy", (3, 11), LACK),
    ],
)
def test_python_versions(
    name: str, version: tuple[int, int], state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 0)
    monkeypatch.setattr(sys, "implementation", SimpleNamespace(name=name))
    monkeypatch.setattr(sys, "version_info", version)
    part = installation.python()
    assert part.state == state
    assert "CPython 3.10 to 3.14" in part.why or state == OK


def test_missing_and_cached_ceilings(
    monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    missing = machine.ceilings()
    key = cache.key("cpu")
    cache.write(machines.machine(key=key), cache.path_of(key))
    cached = machine.ceilings()
    Path(cache.path_of(key)).write_text("{")
    damaged = machine.ceilings()
    assert [part.state for part in (missing, cached, damaged)] == [NOTE, OK, NOTE]
    snapshot(masked(told(missing, cached, damaged), file=cache.path_of(key)))


def test_missing_matplotlib_is_reported(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot) -> None:
    assert machine.roofline().state == OK
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    part = machine.roofline()
    assert part.state == NOTE
    snapshot(masked(f"{part.found}: {part.remedy}", python=sys.executable))


@pytest.mark.parametrize("package", ["gprof2dot", "graphviz"])
def test_missing_packages_of_call_graphs_are_reported(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.call_graph().part == "call graph"
    monkeypatch.setitem(sys.modules, package, None)
    part = machine.call_graph()
    assert (part.state, part.found[-8:]) == (NOTE, "be drawn")
    assert package in part.why
    assert "gprof2dot graphviz" in part.remedy


def test_missing_graphviz_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    part = machine.call_graph()
    assert part.state == NOTE
    assert "install graphviz" in part.remedy


def test_a_recorder_that_was_not_built_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise EnvironmentLack(
            "nothing can be recorded", "perfprobe._core was not built: no compiler", "rebuild"
        )

    monkeypatch.setattr(native, "core", absent)
    part = installation.recorder()
    assert (part.state, part.remedy) == (LACK, "rebuild")
    assert "no compiler" in part.found
    assert installation.frames().state == LACK


@pytest.mark.parametrize("by_path", [True, False], ids=["by_path", "by_folder"])
def test_a_source_folder_that_hides_the_package_is_reported(
    by_path: bool, snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "perfprobe").mkdir()
    (tmp_path / "perfprobe" / "__init__.py").write_text("")
    (tmp_path / "perfprobe-0.1.0.dist-info").mkdir()
    (tmp_path / "perfprobe-0.1.0.dist-info" / "METADATA").write_text("Name: perfprobe\nVersion: 0.1.0\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    source = str(Path(installation.__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", source if by_path else "")
    part = installation.perfprobe()
    assert part.state == LACK
    assert installation.observer({"version": "2.13.0", "observer": "not built"}).remedy == part.remedy
    snapshot(masked(f"{part.why}\n{part.remedy}", source=source, installed=tmp_path))


def test_variables_that_affect_every_program_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/lib/odd.so")
    monkeypatch.setenv("PYTHONPATH", "https://me:S3CR3T@host/modules")
    monkeypatch.setitem(sys.modules, "sitecustomize", SimpleNamespace(__file__="/odd/sitecustomize.py"))
    part = installation.environment()
    assert part.state == NOTE
    assert "LD_PRELOAD=/lib/odd.so" in part.found
    assert "PYTHONPATH=https://***@host/modules" in part.found
    assert "sitecustomize (/odd/sitecustomize.py)" in part.found


@pytest.mark.parametrize(("source", "state"), [("tsc\n", OK), ("hpet\n", NOTE), (None, NOTE)])
def test_the_clock_part(source: str | None, state: str, tmp_path: Path) -> None:
    if source is not None:
        (tmp_path / "clock").write_text(source)
    part = machine.clock(str(tmp_path / "clock"))
    assert part.state == state
    assert (source or "unknown").strip() in part.why + "tsc"


@pytest.mark.parametrize(("needed", "state"), [(True, LACK), (False, NOTE)], ids=["needed", "not_needed"])
def test_a_missing_compiler_is_reported(
    needed: bool, state: str, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    none = machine.compiler(needed=needed)
    monkeypatch.setenv("CXX", "/nowhere/c++ -O2")
    named = machine.compiler(needed=needed)
    assert (none.state, named.state) == (state, state)
    snapshot(told(none, named))


def test_missing_python_headers_are_reported(
    monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", "true --version")  # any program that prints something
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    found = machine.compiler(needed=True).found
    snapshot(masked(found.partition("; ")[2] or found, headers=tmp_path))


def test_an_unwritable_folder_is_reported() -> None:
    part = machine.folder("/proc")
    assert part.state == LACK
    assert "-o" in part.remedy


def test_little_free_space_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1 << 20))
    part = machine.folder(str(tmp_path))
    assert (part.state, part.found) == (NOTE, f"{tmp_path}, 1.00 MiB free")


def test_a_trial_without_a_folder_is_reported(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot) -> None:
    def refuse(**_: str) -> str:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    part = trial.Trial(1).part()
    assert part.state == LACK
    snapshot(told(part))


def test_torchs_profiler_part(snapshot: Snapshot) -> None:
    answers: list[dict[str, Any]] = [
        {},
        {"profiler": ""},
        {"profiler": "torch was built without Kineto"},
        {"profiler": None},
    ]
    parts = [installation.profiler(answer) for answer in answers]
    assert [part.state for part in parts] == [NOTE, OK, NOTE, NOTE]
    snapshot(told(*parts))


def test_a_failing_check_does_not_hide_others(snapshot: Snapshot) -> None:
    def broken() -> Part:
        raise RuntimeError("odd machine")

    part = examine._examined("clock", broken)
    assert part.state == NOTE
    snapshot(re.sub(r"\(\w+\.py:\d+\)", "(FILE:LINE)", told(part)))


def test_control_characters_are_escaped_and_remedies_stay_on_one_line() -> None:
    remedy = "install it with `" + "word " * 30 + "`"
    parts = [Part("torch", LACK, "\x1b[2Jfound\n", "why " * 40, remedy), Part("trial", LACK, "nothing")]
    parts.append(Part("reading", OK, ""))
    drawn = text.render(parts, width=80, color=False)
    assert "\x1b" not in drawn
    assert f" {remedy}\n" in drawn
    assert "\x1b[1;31mfail" in text.render(parts, width=80, color=True)


def test_the_cupti_part(snapshot: Snapshot) -> None:
    failed: dict[str, object] = {"cuda": "13.0", "cupti": "error 39", "cupti_remedy": "x"}
    answers: list[tuple[dict[str, object], dict[str, object], str]] = [
        ({"cuda": "13.0"}, {"missing": "no libcuda"}, OK),
        ({"cuda": "13.0"}, {"status": 100}, NOTE),
        ({"cuda": None}, {"devices": []}, OK),
        ({"cuda": "13.0"}, {"devices": []}, LACK),
        (failed, {"devices": []}, LACK),
    ]
    parts = [gpu.cupti(said, driver) for said, driver, _ in answers]
    assert [part.state for part in parts] == [state for *_, state in answers]
    snapshot(told(*parts))


@pytest.mark.parametrize(
    ("version", "release", "faults"),
    [
        (22, "CUPTI 12.4 (version 22)", ["refusals", "graph_ids"]),
        (24, "CUPTI 12.6 (version 24)", ["clock", "refusals", "graph_ids"]),
        (28, "CUPTI 12.9 Update 1 (version 28)", ["clock", "graph_ids"]),
        (130000, "CUPTI 13.0 (version 130000)", ["clock", "device_waits", "fetching", "graph_ids"]),
        (130001, "CUPTI 13.0 Update 1 (version 130001)", ["clock", "graph_ids"]),
        (130100, "CUPTI 13.1 (version 130100)", ["graph_ids"]),
        (130101, "CUPTI 13.1 Update 1 (version 130101)", []),
        (25, "CUPTI, version 25", ["clock", "refusals", "graph_ids"]),
    ],
)
def test_known_faults_of_cupti_are_named(version: int, release: str, faults: list[str]) -> None:
    """According to NVIDIA's notes: clock 12.6 Update 2 to 13.0, graphs up to 13.1, waits up to 13.0."""
    table = {known["name"]: known for known in native.core().cupti_faults()}
    assert {name for name, known in table.items() if known["first"] <= version < known["fixed"]} == {*faults}
    library = {"library": "/l/libcupti.so.13", "library_found": "mapped by torch"}
    part = gpu.cupti(
        {"cuda": "13.0", "cupti": "", **library, "cupti_version": version, "faults": faults},
        {"devices": ["A"]},
    )
    assert part.found.startswith(f"{release}, /l/libcupti.so.13, ")
    assert part.state == (NOTE if faults else OK)
    for name in faults:
        assert f"{table[name]['what']} ({table[name]['answer']})" in part.why
        assert table[name]["remedy"] in part.remedy
    assert ("graphs have" in part.why) is ("graph_ids" in faults)
    assert ("the first kernels" in part.why) is ("clock" in faults)


def test_the_ranges_part(tmp_path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(native, "why_not_built", lambda name: None)
    assert [gpu.ranges(interface).state for interface in ("nvtx", "itt")] == [OK, OK]
    monkeypatch.setenv("NVTX_INJECTION64_PATH", "/nsys/libToolsInjection64.so")
    taken = gpu.ranges("nvtx")
    assert gpu.ranges("itt").state == OK
    monkeypatch.delenv("NVTX_INJECTION64_PATH")
    monkeypatch.setattr(native, "why_not_built", lambda name: "no headers" if name == "nvtx" else None)
    not_built = gpu.ranges("nvtx")
    monkeypatch.setattr(native, "injection", lambda: str(tmp_path / "missing.so"))
    missing = gpu.ranges("itt")
    assert [part.state for part in (taken, not_built, missing)] == [NOTE, NOTE, LACK]
    text = told(taken, not_built, missing)
    snapshot(masked(text, rebuild=install.rebuild(), folder=tmp_path))


def test_cuda_kernels_that_were_not_built_are_reported(
    monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot
) -> None:
    def absent() -> None:
        raise EnvironmentLack("the GPU cannot be measured", "not built: no nvcc was found", "rebuild")

    monkeypatch.setattr(native, "cuda_kernels", absent)
    part = gpu.cuda_kernels()
    assert part.state == NOTE
    snapshot(told(part))
