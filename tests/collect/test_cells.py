"""Lines in cells of a notebook are named as the notebook names them, `In [3]:2`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from perfprobe.tables.cells import with_cells
from perfprobe.tables.columns import TEXT
from tests.collect.recorded import record

CELL = "/tmp/ipykernel_12/345.py"
TEXT_OF_CELL = "import torch\nfor _ in range(5):\n    torch.ones(64, 64).sum()\n"


def test_operators_of_a_cell_have_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    shell = SimpleNamespace(compile=SimpleNamespace(_filename_map={CELL: 3}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    cell = compile(TEXT_OF_CELL, CELL, "exec")
    rows = record(tmp_path / "run.perfprobe", lambda: exec(cell, {}))
    assert {row.line.split(" ", 2)[:2] == ["In", "[3]:3"] for row in rows if row.name == "aten::sum"} == {
        True
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/tmp/ipykernel_12/345.py", "In [7]"),
        ("<ipython-input-3-de4424292c62>", "In [3]"),
        ("/home/me/ipykernel.py", "/home/me/ipykernel.py"),
        ("odd", "odd"),
    ],
)
def test_only_files_of_cells_are_renamed(text: str, shown: str) -> None:
    numbers = {"/tmp/ipykernel_12/345.py": 7, "odd": "seven"}
    assert with_cells(np.array([text], TEXT), numbers)[0] == shown
