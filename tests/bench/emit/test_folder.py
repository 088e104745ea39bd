"""The folder of scripts: which files are written, kept and listed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from perfprobe.bench.emit.folder import write_scripts
from perfprobe.bench.rebuild.recipe import CallRecipe, TensorRecipe
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.tables.measurements import Wanted
from tests.bench.emit.calls import CALLS
from tests.bench.emit.scripts import written


def test_every_call_has_a_script_or_is_listed_with_a_reason(tmp_path: Path) -> None:
    candidates: list[tuple[object, ...]] = [(Wanted(one.operator, "-"), one, 0.04) for one in CALLS]
    candidates.insert(3, (Wanted("c10d::allreduce_", "f32[8]"), "it talks | to `other`\nprocesses", 0.2))
    folder = write_scripts(candidates, tmp_path / "new" / "folder")
    assert [one.path.name[:2] for one in folder.scripts] == [f"{number:02d}" for number in range(1, 20)]
    assert [(one.candidate.share, one.reason) for one in folder.left_out] == [(0.2, candidates[3][1])]
    assert sorted(path.name for path in folder.readme.parent.iterdir()) == sorted(
        [*(one.path.name for one in folder.scripts), "README.md"]
    )
    readme = folder.readme.read_text()
    assert "| `c10d::allreduce_ f32[8]` | 20.0 % | `it talks ¦ to 'other' processes` |" in readme.splitlines()
    for one in folder.scripts:
        assert f"[{one.path.name}]({one.path.name})" in readme
        for command in one.commands:
            assert f"\n    {command.line}\n" in readme
            assert command.answers in readme
            assert f"(check: `{command.check}`)" in readme


def test_commands_for_cpu_and_gpu_tools(tmp_path: Path) -> None:
    on_cpu, other = CALLS[3], CALLS[0]
    tensors = [replace(one, device="cuda:1") for one in other.arguments if isinstance(one, TensorRecipe)]
    cpu, gpu = written([on_cpu, CallRecipe("aten::bmm", "", tuple(tensors))], tmp_path).scripts
    lines = [one.line for one in cpu.commands]
    for analysis in ("hotspots", "threading", "uarch-exploration", "performance-snapshot"):
        assert any(f"vtune -collect {analysis} " in line and " -start-paused " in line for line in lines)
    assert {one.tool for one in cpu.commands} == {"vtune", "perf stat", "perf record"}
    assert {one.tool for one in gpu.commands} == {"ncu", "nsys", "perf stat"}
    assert 'device="cuda:1"' in gpu.path.read_text() or "device='cuda:1'" in gpu.path.read_text()
    assert "--cache-control all" in (tmp_path / "README.md").read_text()
    shell = re.compile(r"[\w .,:;/=|&>'\"^+-]*")
    assert all(shell.fullmatch(one.line) for each in (cpu, gpu) for one in each.commands)


def test_own_scripts_are_overwritten_and_other_files_kept(tmp_path: Path) -> None:
    first = written(CALLS[:2], tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    assert written(CALLS[:2], tmp_path) == first
    assert (tmp_path / "notes.txt").read_text() == "mine"
    before = first.scripts[1].path.read_text()
    first.scripts[1].path.write_text("print('mine')\n")
    first.readme.unlink()
    with pytest.raises(UsageError, match="was not written by perfprobe; name another folder"):
        written(CALLS[:2], tmp_path)
    assert first.scripts[1].path.read_text() == "print('mine')\n"
    assert not first.readme.exists()  # nothing is written partially
    first.scripts[1].path.unlink()
    elsewhere = tmp_path / "elsewhere.py"
    first.scripts[1].path.symlink_to(elsewhere)
    assert written(CALLS[:2], tmp_path).scripts[1].path.read_text() == before
    assert not elsewhere.exists()
    assert not list(tmp_path.glob(".*"))


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"scripts need a folder: .*file is a file"):
        written(CALLS[:1], tmp_path / "file")
    with pytest.raises(EnvironmentLack, match=r"scripts cannot be written: .*file/below: Not a directory"):
        written(CALLS[:1], tmp_path / "file" / "below")
    (tmp_path / "01_aten_bmm_f32_8x16x32_f32_8x32x16.py").mkdir()
    with pytest.raises(EnvironmentLack, match=r"Is a directory"):
        written(CALLS[:1], tmp_path)
