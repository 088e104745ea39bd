"""The harness of `make gpu-check`, with checks that pass, fail, hang and crash; needs no GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gpu import check, machine, result
from tests.gpu.listed import CHECKS, Check
from tests.gpu.result import FAIL, PASS, SKIP, Report, Result

ROOT = Path(__file__).resolve().parents[2]


def fake(name: str, limit_s: float = 60.0, *, with_standin: bool = False) -> Check:
    return Check(name, f"tests.gpu.fakes:{name}", limit_s, with_standin)


def run(out: Path, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status, and the lines of results.jsonl by name."""
    status = check.main(["--out", str(out), "--no-build", *arguments])
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    return status, {line["name"]: line for line in lines}


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine whose driver answers."""
    monkeypatch.setattr(machine, "driver_lack", lambda: None)
    return monkeypatch


def test_however_a_check_ends_the_others_run(with_gpu: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = ["crashes", "exits", "raises", "fails", "skips", "passes"]
    with_gpu.setattr(check, "CHECKS", [fake("hangs", 5.0), *map(fake, names)])
    status, found = run(tmp_path)
    assert status == 1
    assert {name: line["status"] for name, line in found.items()} == {
        **dict.fromkeys(("hangs", "crashes", "exits", "raises", "fails"), FAIL),
        "skips": SKIP,
        "passes": PASS,
    }
    assert found["hangs"]["reason"].startswith("hung: killed after")
    assert found["hangs"]["said"] == {"reached": "the hang"}
    assert found["crashes"]["reason"].startswith("crashed: SIGSEGV")
    assert found["exits"]["reason"] == "ended with status 7: gone early"
    assert found["raises"]["reason"] == "ValueError: a fault in the check itself"
    assert (found["fails"]["reason"], found["fails"]["said"]) == ("saw 1 and not 2", {"seen": 1})
    assert (found["skips"]["reason"], found["passes"]["said"]) == ("no ncu here", {"kernels": 3})


def test_what_stays_is_in_the_folder(with_gpu: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_gpu.setattr(check, "CHECKS", [fake("passes"), fake("crashes")])
    run(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "summary.txt", "results.jsonl", "output.txt", "kept.txt"
    }  # fmt: skip
    assert "about to crash" in (tmp_path / "output.txt").read_text()
    summary = (tmp_path / "summary.txt").read_text()
    assert summary.startswith("1 pass, 1 fail, 0 skip")
    assert "kernels: 3" in summary


def test_when_the_time_is_used_up_the_rest_is_not_run(with_gpu: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_gpu.setattr(check, "CHECKS", [fake("hangs", 600.0), fake("passes")])
    status, found = run(tmp_path, "--deadline", "14")
    assert status == 1
    assert found["hangs"]["reason"].startswith("hung: killed after")
    assert found["passes"]["reason"] == "not run: the time was used up"


def test_without_a_driver_every_check_is_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "driver_lack", lambda: "no driver: libcuda.so.1 is missing")
    monkeypatch.delenv("PERFPROBE_CUPTI", raising=False)
    status, found = run(tmp_path)
    assert status == 0
    assert list(found) == [check.name for check in CHECKS]
    assert {line["status"] for line in found.values()} == {SKIP}
    assert {line["reason"] for line in found.values()} == {"no driver: libcuda.so.1 is missing"}


def test_with_the_standin_only_the_checks_that_can_use_it_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "driver_lack", lambda: "no driver")
    monkeypatch.setenv("PERFPROBE_CUPTI", "/standin.so")
    monkeypatch.setenv("PERFPROBE_ASSUME_DRIVER", "1")
    monkeypatch.setattr(check, "CHECKS", [fake("passes", with_standin=True), fake("fails")])
    status, found = run(tmp_path)
    assert status == 0
    assert [line["status"] for line in found.values()] == [PASS, SKIP]


def test_interrupted_it_still_writes_the_summary(tmp_path: Path) -> None:
    program = (
        "from tests.gpu import check, machine; from tests.gpu.listed import Check\n"
        "machine.driver_lack = lambda: None\n"
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
    assert (tmp_path / "summary.txt").read_text().startswith("1 pass, 0 fail, 0 skip")


def test_files_that_would_not_travel_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result, "MOST_FILE_BYTES", 1000)
    report = Report(tmp_path)
    report.add(Result("one", PASS))
    (tmp_path / "large.bin").write_bytes(bytes(1000))
    for number in range(7):
        (tmp_path / f"{number}.json").write_text("{}")
    report.close()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"summary.txt", "results.jsonl", "output.txt", *(f"{n}.json" for n in range(5))}
    summary = (tmp_path / "summary.txt").read_text()
    assert "left out, too large: large.bin" in summary
    assert "left out, one file too many: 6.json" in summary


@pytest.mark.parametrize("each", CHECKS, ids=lambda each: each.name)
def test_every_check_that_is_listed_exists(each: Check) -> None:
    module, name = each.function.split(":")
    tree = (ROOT / (module.replace(".", "/") + ".py")).read_text()
    assert f"def {name}(room: Room) -> None:" in tree
