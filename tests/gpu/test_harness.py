"""The harness of `make gpu-check`, with checks that pass, fail, hang and crash. Needs no GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.gpu import byhand, check, listed, machine, result
from tests.gpu.listed import CHECKS, Check
from tests.gpu.result import FAIL, PASS, SKIP, Report, Result
from tests.snapshots import Snapshot

ROOT = Path(__file__).resolve().parents[2]


def fake(name: str, limit_s: float = 60.0, *, with_standin: bool = False) -> Check:
    return Check(name, f"tests.gpu.fakes:{name}", limit_s, "" if with_standin else "a GPU")


def run(out: Path, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status, and the lines of results.jsonl by name."""
    status = check.main(["--out", str(out), "--no-build", *arguments])
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    return status, {line["name"]: line for line in lines}


def steady(text: str) -> str:
    """The text without times, and without the frame in which Python says that it crashed."""
    return re.sub(r"\s+[\d.]+ s\b", " TIME", re.sub(r"(SIGSEGV: ).*", r"\1FRAME", text))


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with a working driver."""
    monkeypatch.setattr(machine, "driver_missing", lambda: None)
    return monkeypatch


def test_all_checks_run_however_one_ends(
    with_gpu: pytest.MonkeyPatch, tmp_path: Path, snapshot: Snapshot
) -> None:
    names = ["crashes", "exits", "raises", "fails", "skips", "passes"]
    with_gpu.setattr(check, "CHECKS", [fake("hangs", 5.0), *map(fake, names)])
    status, found = run(tmp_path)
    assert status == 1
    assert {name: line["status"] for name, line in found.items()} == {
        **dict.fromkeys(("hangs", "crashes", "exits", "raises", "fails"), FAIL),
        "skips": SKIP,
        "passes": PASS,
    }
    assert found["hangs"]["said"] == {"reached": "the hang"}
    assert found["fails"]["said"] == {"seen": 1}
    assert found["passes"]["said"] == {"kernels": 3}
    reasons = "\n".join(f"{name}: {line['reason']}" for name, line in found.items())
    snapshot(steady(reasons))


def test_files_to_keep_are_in_the_folder(
    with_gpu: pytest.MonkeyPatch, tmp_path: Path, snapshot: Snapshot
) -> None:
    with_gpu.setattr(check, "CHECKS", [fake("passes"), fake("crashes")])
    run(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "summary.txt", "results.jsonl", "output.txt", "kept.txt"
    }  # fmt: skip
    assert "to crash" in (tmp_path / "output.txt").read_text()
    snapshot(steady((tmp_path / "summary.txt").read_text()))


def test_checks_beyond_the_deadline_do_not_run(
    with_gpu: pytest.MonkeyPatch, tmp_path: Path, snapshot: Snapshot
) -> None:
    with_gpu.setattr(check, "CHECKS", [fake("hangs", 600.0), fake("passes")])
    status, found = run(tmp_path, "--deadline", "14")
    assert status == 1
    snapshot(steady("\n".join(f"{name}: {line['reason']}" for name, line in found.items())))


def test_without_a_driver_every_check_is_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "driver_missing", lambda: "no driver")
    monkeypatch.delenv("PERFPROBE_CUPTI", raising=False)
    status, found = run(tmp_path)
    assert status == 0
    assert list(found) == [check.name for check in CHECKS]
    assert {line["status"] for line in found.values()} == {SKIP}
    assert {line["reason"] for line in found.values()} == {"no driver"}


def test_with_the_standin_only_suitable_checks_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "driver_missing", lambda: "no driver")
    monkeypatch.setenv("PERFPROBE_CUPTI", "/standin.so")
    monkeypatch.setenv("PERFPROBE_ASSUME_DRIVER", "1")
    monkeypatch.setattr(check, "CHECKS", [fake("passes", with_standin=True), fake("fails")])
    status, found = run(tmp_path)
    assert status == 0
    assert [line["status"] for line in found.values()] == [PASS, SKIP]


def test_the_summary_is_written_after_an_interrupt(tmp_path: Path, snapshot: Snapshot) -> None:
    program = (
        "from tests.gpu import check, machine; from tests.gpu.listed import Check\n"
        "machine.driver_missing = lambda: None\n"
        "check.CHECKS = [Check(name, 'tests.gpu.fakes:' + name, 600) for name in ('passes', 'hangs')]\n"
        f"check.main(['--out', {str(tmp_path)!r}, '--no-build'])\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert started.stdout is not None
    assert started.stdout.readline().startswith("pass  passes")
    started.terminate()
    assert started.wait(timeout=60) == 143
    started.stdout.close()
    snapshot(steady((tmp_path / "summary.txt").read_text()))


def test_too_large_or_deep_files_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot
) -> None:
    monkeypatch.setattr(result, "MOST_FILE_BYTES", 1000)
    report = Report(tmp_path)
    report.add(Result("one", PASS))
    (tmp_path / "large.bin").write_bytes(bytes(1001))
    deep = tmp_path / "00" / "two" / "three"
    deep.mkdir(parents=True)
    (deep / "deep.json").write_text("{}")
    (deep.parent / "second.json").write_text("{}")
    for number in range(7):
        (tmp_path / f"{number}.json").write_text("{}")
    report.close()
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    kept = [*(f"{n}.json" for n in range(4)), "second.json"]
    assert left == {"summary.txt", "results.jsonl", "output.txt", *kept}
    snapshot(steady((tmp_path / "summary.txt").read_text()))


def test_everything_that_needs_a_gpu_is_a_check() -> None:
    """`make gpu-check` runs its list and no tests, so a test marked elsewhere would never run."""
    marked = [path for path in (ROOT / "tests").rglob("test_*.py") if "@pytest.mark.gpu" in path.read_text()]
    others = [path for path in marked if path.name not in ("test_checks.py", "test_harness.py")]
    assert others == []
    assert not any("pytest" in each.function for each in CHECKS)


def test_the_build_by_hand_links_every_source() -> None:
    of_observer = {*(ROOT / "csrc/torch").glob("*.cpp"), ROOT / "csrc/bindings/observer_module.cpp"}
    sources = {
        path for path in (ROOT / "csrc").rglob("*.cpp")
    } - of_observer  # included in its translation unit
    by_target = byhand.linked(ROOT)
    assert set().union(*by_target.values()) == sources
    cmake = (ROOT / "csrc/CMakeLists.txt").read_text()
    libraries = "perfprobe_python perfprobe_gpu perfprobe_perf perfprobe_peak perfprobe_read perfprobe_core"
    assert f"_core PRIVATE {libraries}" in " ".join(cmake.split())
    assert ROOT / "csrc/cpu/peak/peak.cpp" in by_target["_core"]


@pytest.mark.parametrize("each", CHECKS, ids=lambda each: each.name)
def test_every_listed_check_exists(each: Check) -> None:
    module, name = each.function.split(":")
    tree = (ROOT / (module.replace(".", "/") + ".py")).read_text()
    assert f"def {name}(" in tree


@pytest.mark.parametrize("group", listed.GROUPS)
def test_a_group_ends_in_less_than_ten_minutes(group: str) -> None:
    usual_s = sum(each.usual_s for each in CHECKS if each.group == group)
    margin_s = 60 if group == "A" else 0  # the first group meets a cold disk
    assert listed.BUILD_S + usual_s + check.RESERVE_S + margin_s <= listed.GROUP_S < 600
    assert all(each.limit_s >= 1.5 * each.usual_s for each in CHECKS)


def test_the_groups_are_as_planned() -> None:
    """Group A is for the first minutes on a GPU: what is recorded at all, and how well."""
    of = {each.name: each.group for each in CHECKS}
    asked_for = """environment spin_truth monotonic_clock lines copies thread_ids counters fixtures
        second_session graph_replay kineto_counts profiler_holds_cupti profiler_beside_us buffer_delivery
        nvtx_ranges external_ids ids_by_call_kind triton graph_before_session streams ceilings report
        doctor"""
    assert {of[name] for name in asked_for.split()} == {"A"}
    assert {of[name] for name in ("machine_ceilings", "under_ncu", "perf_events", "overhead")} == {"B"}
    assert len(of) == len(CHECKS)


def test_a_group_runs_its_own_checks(with_gpu: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = [replace(fake(name), group=group) for name, group in (("passes", "A"), ("skips", "B"))]
    with_gpu.setattr(check, "CHECKS", made)
    found = [set(run(tmp_path / group, "--group", group)[1]) for group in ("A", "B")]
    assert found == [{"passes"}, {"skips"}]
    assert set(run(tmp_path / "all")[1]) == {"passes", "skips"}


def test_each_group_has_its_own_deadline(
    with_gpu: pytest.MonkeyPatch, tmp_path: Path, snapshot: Snapshot
) -> None:
    """Time used by the first group is not subtracted from the second."""
    late = [replace(fake("hangs", 600.0), group="A"), replace(fake("skips"), group="A")]
    with_gpu.setattr(check, "CHECKS", [*late, replace(fake("passes"), group="B")])
    _, found = run(tmp_path, "--deadline", "13")
    assert found["passes"]["status"] == PASS
    snapshot(steady((tmp_path / "summary.txt").read_text()))


def package(folder: Path, *built: str) -> Path:
    """A perfprobe that prints which one it is, with these extension modules."""
    (folder / "perfprobe").mkdir(parents=True)
    (folder / "perfprobe" / "__init__.py").write_text(f"WHICH = {folder.name!r}\n")
    for name in built:
        (folder / "perfprobe" / name).write_text("")
    return folder


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter without this environment's packages: an editable installation takes precedence."""
    monkeypatch.setattr(sys, "executable", vars(sys).get("_base_executable", sys.executable))


@pytest.mark.usefixtures("bare")
def test_a_site_takes_precedence(with_gpu: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only this tree's checks and benchmarks are on the path, as its perfprobe may not be built."""
    site = package(tmp_path / "unpacked", "_core.so", "_observer.so")
    with_gpu.setattr(check, "CHECKS", [fake("which")])
    assert check.main(["--out", str(tmp_path / "out"), "--site", str(site)]) == 0
    site_line, line = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert json.loads(site_line)["said"] == {"file": str(site / "perfprobe" / "__init__.py")}
    assert json.loads(line)["said"] == {"which": "unpacked", "root_on_path": False, "benchmarks": True}


@pytest.mark.usefixtures("bare")
def test_a_perfprobe_that_takes_precedence_over_the_site_is_reported(tmp_path: Path) -> None:
    site, other = (package(tmp_path / name, "_core.so", "_observer.so") for name in ("site", "other"))
    found = check.found_in(site, {"PYTHONPATH": f"{other}:{site}"}, tmp_path)
    assert found.status == FAIL
    assert found.reason.endswith(f"{site}: {other}/perfprobe/__init__.py")


@pytest.mark.usefixtures("bare")
def test_without_a_site_the_tree_does_not_hide_an_installed_perfprobe(tmp_path: Path) -> None:
    installed = package(tmp_path / "installed")
    paths = check.environment(None, tmp_path / "path")["PYTHONPATH"].split(os.pathsep)
    paths.append(str(installed))  # as site-packages comes after PYTHONPATH
    program = "import perfprobe, tests.gpu.child; print(perfprobe.WHICH)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.strip() == "installed", ended.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--site", "/nowhere"], "nothing was built as _core*.so, _observer*.so"),
        (["--only", "nonsense"], "there is no check nonsense"),
        (["--group", "Z"], "invalid choice: 'Z'"),
        ([], "name a folder"),
    ],
)
def test_wrong_arguments_are_reported_with_status_2(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path)] if words else []
    with pytest.raises(SystemExit) as exit_:
        check.main([*out, *words])
    assert exit_.value.code == 2
    assert said in capsys.readouterr().err


def test_the_list_names_every_check_and_its_need_of_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    reported = {line.split()[0]: line for line in lines if line.startswith("  ")}
    assert list(reported) == [each.name for each in CHECKS]
    for each in CHECKS:
        wanted = f"needs a GPU: {each.gpu_for}" if each.gpu_for else "runs against the stand-in"
        assert reported[each.name].endswith(wanted)
