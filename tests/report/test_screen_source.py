"""The text of the slowest line, and the line OPS, on the first screen."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from perfprobe.models.kernel_names import group_of_kernel
from perfprobe.results import Results
from perfprobe.support.view import View
from tests.build import Program, op
from tests.report.test_screen_invariants import TRACES, OnGpu, Random
from tests.report.test_text import META

MS = 1_000_000
SECRET = "    hidden = 1"
HOST = {"host": {"name": os.uname().nodename}}
BEFORE = {"clock": {"monotonic_ns": 0, "realtime_ns": 4_000_000_000 * 10**9}}  # after every file was written


def training(file: str, folder: Path, **meta: Any) -> Results:
    """Steps in which line 3 of the file takes most of the time."""
    program = Program(**{**META, **HOST, **BEFORE, **meta})
    program.thread(1)
    net = program.module("", "Net")
    forward = program.stack("/p/train.py:24 main", (f"{file}:3 forward", net))
    update, at_ns = program.stack("/p/train.py:25 main"), 0
    for number in range(8):
        parts = [
            op("aten::mm", at_ns, at_ns + 60 * MS, stack=forward, sequence=number),
            op("aten::bmm", at_ns + 60 * MS, at_ns + 80 * MS, stack=forward, sequence=number),
            op("Optimizer.step#SGD.step", at_ns + 80 * MS, at_ns + 100 * MS, stack=update, scope=7),
        ]
        program.run(*parts)
        at_ns += 100 * MS
    return Results(program.recording(folder).path)


def rows(results: Results, view: View | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = results.document(view or View())["tables"]["first_screen"]
    return found


def below_slow(results: Results, view: View | None = None) -> list[str]:
    """The lines that continue SLOW."""
    screen = rows(results, view)
    first = next(at for at, row in enumerate(screen) if row["label"] == "SLOW")
    return [row["text"] for row in screen[first + 1 : first + 3] if row["label"] == ""]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/net.py").write_text("import torch\n\n\t y = torch.mm(x,\tx)  \x1b[31m# \u202e\n")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_the_text_is_below_slow_and_cannot_act_on_a_terminal(here: Path) -> None:
    results = training(str(here / "net.py"), here)
    assert below_slow(results)[0] == r"y = torch.mm(x, x)  \x1b[31m# \u202e"
    slow = next(row for row in rows(results) if row["label"] == "SLOW")
    assert (slow["file"], slow["line"]) == (str(here / "net.py"), 3)
    for width in (40, 80, 200):
        assert max(map(len, results.text(View(), width=width).splitlines()[:12])) <= max(width, 80)


def test_the_place_is_before_the_text_where_slow_does_not_begin_with_it(here: Path) -> None:
    """Data loading, whose line is the loop's."""
    program = Program(**{**META, **HOST, **BEFORE})
    program.thread(1)
    loop = program.stack(f"{here / 'net.py'}:3 main")
    for at_ns in range(0, 800 * MS, 100 * MS):
        program.run(op("enumerate(DataLoader)#_Next", at_ns, at_ns + 80 * MS, stack=loop, scope=7))
        program.run(op("Optimizer.step#SGD.step", at_ns + 80 * MS, at_ns + 99 * MS, stack=loop, scope=7))
    assert below_slow(Results(program.recording(here).path))[0].startswith("net.py:3  y = torch.mm(x, x)")


def test_the_text_is_cut_to_the_width(here: Path) -> None:
    (here / "net.py").write_text(f"\n\ny = {'x + ' * 100}x\n")
    text = training(str(here / "net.py"), here).text(View(), width=80)
    (line,) = [line for line in text.splitlines() if "y = x + x" in line]
    assert len(line) == 80
    assert line.endswith("…")


@pytest.mark.parametrize("case", ["elsewhere", "link out", "folder linked out", "no py", "short", "missing"])
def test_only_files_below_this_folder_are_shown(case: str, here: Path) -> None:
    outside = here.parent / "outside.py"
    outside.write_text(f"\n\n{SECRET}\n")
    file = here / "other.py"
    if case == "elsewhere":
        file = outside
    elif case == "link out":
        file.symlink_to(outside)
    elif case == "folder linked out":
        (here / "linked").symlink_to(here.parent)
        file = here / "linked/outside.py"
    elif case == "no py":
        file = here / "other.txt"
        file.write_text(f"\n\n{SECRET}\n")
    elif case == "short":
        file.write_text("\n")
    results = training(str(file), here)
    assert SECRET.strip() not in str(rows(results))
    assert not any("hidden" in text for text in below_slow(results))


def test_a_link_within_the_folder_is_followed(here: Path) -> None:
    (here / "alias.py").symlink_to(here / "net.py")
    assert below_slow(training(str(here / "alias.py"), here))[0].startswith("y = torch.mm")


@pytest.mark.parametrize("meta", [{"clock": {"monotonic_ns": 0, "realtime_ns": 1}}, {"clock": {}}])
def test_a_file_that_changed_or_may_have_changed_is_not_shown(meta: dict[str, Any], here: Path) -> None:
    results = training(str(here / "net.py"), here, **meta)
    assert not any("torch.mm" in text for text in below_slow(results))


def test_no_source_shows_none(here: Path) -> None:
    results = training(str(here / "net.py"), here)
    assert not any("torch.mm" in text for text in below_slow(results, View(source="")))
    assert any("torch.mm" in text for text in below_slow(results, View(source=str(here))))


def ops(results: Results) -> list[tuple[str, int]]:
    """Names and percent. Names of kernels may contain commas, and several may be shortened to the same."""
    texts = [row["text"] for row in rows(results) if row["label"] == "OPS"]
    named = [each for text in texts for each in re.findall(r"(.+?) (\d+) %(?:, |$)", text)]
    return [(name, int(share)) for name, share in named]


def test_operators_are_shares_of_the_steps(here: Path) -> None:
    assert ops(training("/p/net.py", here)) == [("mm", 60), ("bmm", 20)]


@pytest.mark.parametrize("kind", [Random, OnGpu])
@pytest.mark.parametrize("seed", range(12))
def test_operators_agree_with_the_account(seed: int, kind: type[Random], tmp_path: Path) -> None:
    check(Results(kind(seed).made().recording(tmp_path).path))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_operators_of_stored_traces_agree_with_the_account(path: Path) -> None:
    check(Results(str(path)))


def check(results: Results) -> None:
    tables = results.document(View())["tables"]
    found = [share for _, share in ops(results)]
    assert found == sorted(found, reverse=True)
    of_gpu = tables.get("gpu_account")
    if not tables.get("loops") and not of_gpu:
        assert found == []  # the shares would be of other time than those of a step
        return
    if not of_gpu:
        own = [row for row in tables.get("account", []) if row["kind"] != "processor"]
        in_operators = sum(row["operators_ns"] for row in own) / max(sum(row["time_ns"] for row in own), 1)
        assert sum(found) <= in_operators * 100 + 1 + len(found)
        return
    sums: dict[str, int] = {}
    for row in (row for row in of_gpu if row["kind"] != "idle"):
        name = row["copy"] or group_of_kernel(row["kernel"])
        sums[name] = sums.get(name, 0) + row["time_ns"]
    whole_ns = sum(row["time_ns"] for row in of_gpu)
    percents = sorted(time_ns * 100 / whole_ns for time_ns in sums.values() if 20 * time_ns >= whole_ns)
    assert found == pytest.approx(percents[::-1][:6], abs=0.51)
