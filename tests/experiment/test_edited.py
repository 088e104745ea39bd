"""Changes of a source: arguments of calls, as a diff."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.experiment.edited import diff, edited
from perfprobe.tables.tried import Applied
from tests.snapshots import Snapshot

SOURCE = """\
import torch
loader = torch.utils.data.DataLoader(data, 8, num_workers=0)  # (a comment)
optimizer = AdamW(
    model.parameters(),
    lr=1e-3,
)
for x in loader:
    optimizer.zero_grad()
a, b = SGD(p, 1), SGD(q, 1)
other = DataLoader(
    data, batch_size=len(data)
)
"""


@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        (2, "workers=2", "DataLoader(data, 8, num_workers=2)  # (a comment)"),
        (2, "prefetch=4", "DataLoader(data, 8, num_workers=0, prefetch_factor=4)  # (a comment)"),
        (8, "set-to-none", "optimizer.zero_grad(set_to_none=True)"),
    ],
)
def test_an_argument_is_set_in_the_call_of_the_line(line: int, word: str, expected: str) -> None:
    found = edited(SOURCE, line, word)
    assert expected in found.splitlines()[line - 1]
    compile(found, "found", "exec")


@pytest.mark.parametrize(
    ("line", "word"), [(9, "fused"), (10, "workers=1"), (2, "no-grad"), (1, "workers=1"), (99, "workers=1")]
)
def test_what_is_not_certain_is_left_alone(line: int, word: str) -> None:
    assert edited(SOURCE, line, word) == SOURCE
    assert edited("not python (", line, word) == "not python ("


def test_all_changes_are_one_diff(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "train.py").write_text(SOURCE)
    places = (
        ("workers=2", "train.py", 2),
        ("persistent-workers", "train.py", 2),
        ("set-to-none", "train.py", 8),
    )
    changes = [
        Applied(word=word, times=1, place="", code="", file=file, line=line)
        for word, file, line in (*places, ("no-grad", "", -1), ("fused", "gone.py", 3))
    ]
    changes.append(Applied(word="fused", times=1, place="", code="", file="train.py", line=3))
    snapshot(diff(str(tmp_path), changes))
