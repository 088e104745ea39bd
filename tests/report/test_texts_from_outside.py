"""No view of a report shows a text of the recording raw, whichever text it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe import results, runs
from perfprobe.merge import link
from perfprobe.report.section.listed import KINDS
from perfprobe.report.section.screen import slow
from perfprobe.support.errors import PerfprobeError
from perfprobe.support.view import GROUPS, View
from perfprobe.support.views import VIEWS
from perfprobe.tables.diagnoses import Cause, Diagnosis
from perfprobe.tables.recording import Recording
from perfprobe.tables.trace import Line
from tests.build import Program
from tests.collect.runs import perfprobe
from tests.found import find
from tests.once import Once
from tests.report.test_text import META

EVIL = "\x1b]0;owned\x07"  # sets the title of a terminal
PROGRAM = """
import torch
from torch.utils.data import DataLoader

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    def forward(self, x):
        return self.inner(x)

def slow():
    return sum(range(2_000_000))

def main():
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for x in DataLoader(torch.randn(60, 8), batch_size=2, num_workers=1):
        with torch.profiler.record_function("my range"):
            loss = net(x).sum()
        loss.backward()
        optimizer.step()
        slow()

if __name__ == "__main__":
    main()
"""
# Prefixes of texts that passes recognise. Unchanged, they lead to more findings.
KNOWN = ("aten::", "autograd::", "f32", "i64", "Optimizer.", "profiler::")


@pytest.fixture(scope="module")
def recording(once: Once) -> Path:
    def record(folder: Path) -> Path:
        pytest.importorskip("torch")
        (folder / "program.py").write_text(PROGRAM)
        assert perfprobe(["-q", "-o", "run.perfprobe", "--memory", "program.py"], folder).status == 0
        return folder / "run.perfprobe"

    return once("texts_from_outside", record)


def marked(value: Any, mark: Callable[[str], str]) -> Any:
    if isinstance(value, str) and value:
        return mark(value)
    if isinstance(value, dict):
        return {key: marked(each, mark) for key, each in value.items()}
    return [marked(each, mark) for each in value] if isinstance(value, list) else value


def all_marked(found: Recording, mark: Callable[[str], str]) -> Recording:
    """The recording with every text of its tables and meta values changed."""
    tables = {}
    for kind, table in found.tables.items():
        columns = {name: getattr(table, name) for name in kind.dtypes}
        for name, column in columns.items():
            if column.dtype == object:
                columns[name] = np.array([*(marked(text, mark) for text in column), ""], object)[:-1]
        tables[kind] = kind.part(columns)
    return replace(found, tables=tables, meta=marked(dict(found.meta), mark))


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("keeps_known", [True, False])
def test_no_view_shows_a_text_raw(
    recording: Path, monkeypatch: pytest.MonkeyPatch, is_first: bool, keeps_known: bool
) -> None:
    def mark(text: str) -> str:
        if keeps_known and text.startswith(KNOWN):
            return text
        return f"{EVIL}{text}" if is_first else f"{text}{EVIL}"

    read = runs._read
    monkeypatch.setattr(runs, "_read", lambda *given: all_marked(read(*given), mark))
    opened = results.Results(str(recording))
    views = [View(), View(brief=True), View(full=True, columns="all")]
    views += [View(group=group, top=0) for group in GROUPS] + [View(view=view, top=0) for view in VIEWS]
    shown = []
    for view in views:
        try:
            shown.append(opened.text(view, width=200))
        except PerfprobeError as error:  # a view of what was not recorded
            shown.append(str(error))
    text = "\n".join([*shown, opened.threads_text(width=200)])
    assert [line for line in text.split("\n") if not line.isprintable()] == []
    assert text.count("x1b]0;owned") > 500


def test_the_function_of_the_slowest_line_is_not_shown_raw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("main_of", "phases_of", "in_steps"):
        monkeypatch.setattr(slow, name, lambda *_: "")
    monkeypatch.setattr(slow, "main_of", lambda *_: None)
    found = find(link(Program(**META).recording(tmp_path)), *KINDS)
    slowest = Diagnosis(cause=Cause.LINE, time_ns=1, share=0.5, phases={}, steps=1)
    row = slow._line_of(found, slowest, {"line": Line(f"{EVIL}a.py", 1, f"{EVIL}step")})
    assert row.text.isprintable()
    assert row.text.count("x1b]0;owned") == 2
