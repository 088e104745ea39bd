"""Files in the current folder or beside the program are never imported as perfprobe's own modules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from perfprobe.support import starter
from tests.collect.runs import both, finish, start, where

pytest.importorskip("torch")

OTHERS = ("gprof2dot", "graphviz", "matplotlib", "numpy", "pygments", "rich", "shtab", "torch", "triton")
MARK = """
with open({marks!r}, "a") as file:
    file.write(__name__ + "\\n")
raise ImportError("sprung")
"""
PROGRAM = """
import os, sys
import torch
torch.ones(8, 8) @ torch.ones(8, 8)
os.chdir(sys.argv[1])
"""
# The entry point that pip writes.
CONSOLE_SCRIPT = "import sys\nfrom perfprobe.cli import main\nsys.exit(main())\n"


def plant(folder: Path, names: Iterable[str], text: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / f"{name}.py").write_text(text)
    return folder


def loaded_by_dash_m(folder: Path) -> set[str]:
    """The modules that `python -m` loads for any program, with the current folder on sys.path."""
    (folder / "nothing.py").write_text("import sys; print(*sys.modules)")
    words = [sys.executable, "-m", "nothing"]
    return set(subprocess.run(words, cwd=folder, capture_output=True, check=True, text=True).stdout.split())


def test_no_file_of_the_current_folder_is_imported(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    names = {*sys.stdlib_module_names, *OTHERS}
    text = MARK.format(marks=str(marks))
    planted = plant(tmp_path / "planted", names, text)
    for_dash_m = plant(tmp_path / "for_dash_m", names - loaded_by_dash_m(tmp_path), text)
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "train.py").write_text(PROGRAM)
    (tmp_path / "perfprobe").write_text(CONSOLE_SCRIPT)
    script, train = str(tmp_path / "perfprobe"), str(tmp_path / "program" / "train.py")
    recording = str(tmp_path / "run.perfprobe")
    report = ["--json", str(tmp_path / "run.json"), "--callgraph", str(tmp_path / "run.dot")]
    runs = [
        ([script, "-o", recording, *report, train, "."], planted),
        # The program changes to that folder, and the report is made there.
        (["-m", "perfprobe", "-o", str(tmp_path / "b"), train, str(planted)], tmp_path / "program"),
        (["-m", "perfprobe", "-o", str(tmp_path / "c"), train, "."], for_dash_m),
        ([script, "bench", "--quick", "relu", "f32[8]"], planted),
        ([script, "doctor"], planted),
    ]
    *outcomes, doctor = [finish(process) for process in [start(words, folder) for words, folder in runs]]
    for outcome in outcomes:
        assert (outcome.status, b"sprung" in outcome.out + outcome.err) == (0, False), outcome
    assert doctor.status == 4
    assert f"{planted / 'torch.py'} is not torch".encode() in doctor.out
    later = [[script, "report", recording], [script, "graph", recording, "-o", str(tmp_path / "later.dot")]]
    for outcome in [finish(process) for process in [start(words, planted) for words in later]]:
        assert outcome.status == 0, outcome
    assert not marks.exists(), marks.read_text()
    assert {"run.json", "run.dot", "later.dot"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("module", ["perfprobe.bench.ceilings.worker", "perfprobe.bench.lookup"])
def test_no_process_of_perfprobe_imports_them(module: str, tmp_path: Path) -> None:
    """Long-running processes: each is started and asked, until it waits for work."""
    marks = tmp_path / "marks"
    text = MARK.format(marks=str(marks))
    planted = plant(tmp_path / "planted", {*sys.stdlib_module_names, *OTHERS}, text)
    words = starter.command(module)
    assert "-c" not in words
    done = subprocess.run(
        words, cwd=planted, env=starter.environment(), input=b"{}", capture_output=True, check=False
    )
    assert b"Error" in done.stderr
    assert b"sprung" not in done.stderr
    assert not marks.exists(), marks.read_text()


def test_folders_of_pythonpath_are_left_to_the_program(tmp_path: Path) -> None:
    """An empty entry of PYTHONPATH means the current folder, which the program may change."""
    marks = tmp_path / "marks"
    planted = plant(tmp_path / "planted", ["json", "sitecustomize"], MARK.format(marks=str(marks)))
    (tmp_path / "main.py").write_text(f"import os; os.chdir({str(planted)!r})")
    words = ["-m", "perfprobe", "-o", "run.perfprobe", "main.py"]
    outcome = finish(start(words, tmp_path, {"PYTHONPATH": "/nowhere:"}))
    assert (outcome.status, marks.exists()) == (0, False)
    assert b"no operators" in outcome.err.lower()


ALL = """
import sys
for name in sorted(sys.stdlib_module_names):
    if name not in ("__main__", "main"):
        module = __import__(name)
        print(name, getattr(module, "planted", False))
"""
LATE = """
import atexit, multiprocessing, sys
def work(x):
    import json, re
    return x, json.__file__.rpartition("/")[2], hasattr(json, "planted"), hasattr(re, "planted")
if __name__ == "__main__":
    atexit.register(lambda: print(sorted(name for name in sys.modules if name in {names!r})))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [1]))
"""


@pytest.mark.parametrize("source", ["", ALL], ids=["none", "all"])
@pytest.mark.parametrize("words", [["main.py"], ["-m", "main"], ["-c", "import main"]], ids=" ".join)
def test_the_program_can_import_files_beside_it(source: str, words: list[str], tmp_path: Path) -> None:
    names = set(sys.stdlib_module_names) - loaded_by_dash_m(tmp_path)
    folder = plant(tmp_path / "beside", names, "print(__name__, 'is run')\nplanted = True\n")
    (folder / "main.py").write_text(source)
    pair = both(words, folder)
    assert (pair.recorded.status, pair.recorded.out) == (pair.plain.status, pair.plain.out)
    assert pair.recorded.err == pair.plain.err
    assert pair.recorded.said == (where(pair.recording),)


def test_spawned_children_can_import_files_beside_the_program(tmp_path: Path) -> None:
    names = ("json", "array", "argparse")
    folder = plant(tmp_path / "beside", names, "planted = True\n")
    (folder / "main.py").write_text(LATE.format(names=names))
    pair = both(["main.py"], folder)
    assert (pair.recorded.status, pair.recorded.out) == (pair.plain.status, pair.plain.out)
