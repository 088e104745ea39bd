"""A recording is opened once, and computed findings are kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from perfprobe.analyse import analysis as passes
from perfprobe.analyse.findings import Watcher
from perfprobe.report.section.listed import KINDS
from perfprobe.results import Results
from perfprobe.support.graph_view import GraphView
from perfprobe.support.view import View
from perfprobe.tables.children import Children
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.python import CallStructure
from perfprobe.tables.trace import Trace
from tests.report.test_text import training

# The end of `perfprobe run --json FILE --callgraph FILE`, in a process that counts.
COUNTED = """
import sys
from perfprobe.cli.after import _report
from perfprobe.support.view import View
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
path = sys.argv[1]
_report(path, view=vars(View()), json_file="found.json", callgraph="graph.dot", html="page.html", table=True)
print("opened", opened.count(path))
"""


def test_report_json_and_picture_open_the_recording_once(tmp_path: Path) -> None:
    path = training().recording(tmp_path).path
    words = [sys.executable, "-c", COUNTED, path]
    made = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert made.stdout.splitlines()[-1] == "opened 1", made.stdout + made.stderr
    assert (tmp_path / "found.json").stat().st_size > 0
    assert (tmp_path / "graph.dot").stat().st_size > 0
    assert (tmp_path / "page.html").stat().st_size > 0


# Masked arrays take a fifth of numpy's start. A few numpy functions import them when first called.
UNUSED = "import sys; from perfprobe.cli import main; main(); sys.exit('numpy.ma' in sys.modules)"


def test_a_report_does_not_import_masked_arrays(tmp_path: Path) -> None:
    program = training()
    program.sample(0, 100, "/p/train.py:20 main")
    path = program.recording(tmp_path).path
    subprocess.run([sys.executable, "-c", UNUSED, "report", path], capture_output=True, check=True)


def test_each_pass_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[int] = []
    read = passes.read

    def counted(trace: Trace, watchers: Collection[Watcher], with_memory: bool) -> Losses:
        readings.append(len(watchers))
        return read(trace, watchers, with_memory)

    monkeypatch.setattr(passes, "read", counted)
    results = Results(training().recording(tmp_path).path)

    assert Hotspots in results.findings(View(), KINDS)
    results.document(View())
    results.text(View())
    results.draw(str(tmp_path / "graph.dot"), GraphView())

    # Once steps are known: the critical path and other profilers' tables; operators of steps and forward that
    # no backward uses; their stacks.
    assert readings == [9, 3, 2, 1]
    results.findings(View(focus="mm"), KINDS)
    assert readings == [9, 3, 2, 1, 2]  # passes that no focus changes are kept


def test_unused_findings_are_not_computed(tmp_path: Path) -> None:
    found = Results(training().recording(tmp_path).path).findings(View(), (CallStructure,))
    assert CallStructure in found
    assert Hotspots not in found
    assert Children not in found  # files beside the recording were not searched
