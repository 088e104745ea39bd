"""A numpy stage and a wait between operators are found with their lines, in a program that times itself."""

import json
from pathlib import Path
from typing import Any

from perfprobe.merge import link
from perfprobe.tables import storage
from tests.collect.runs import perfprobe

PROGRAM = """\
import json
import time

import numpy as np
import torch

TOOK_NS = {"numpy": 0, "wait": 0}


def augment(images):
    array = images.detach().numpy()
    begin = time.monotonic_ns()
    for _ in range(20):
        array = np.sort(array, axis=0)
    TOOK_NS["numpy"] += time.monotonic_ns() - begin
    return torch.from_numpy(array) + 1


def main():
    torch.set_num_threads(1)
    for _ in range(3):
        images = torch.rand(64, 64)
        images = augment(images)
        images.sum()
        begin = time.monotonic_ns()
        time.sleep(0.01)
        TOOK_NS["wait"] += time.monotonic_ns() - begin
    print(json.dumps(TOOK_NS))


main()
"""


def test_a_numpy_stage_and_a_wait_have_their_lines_and_times(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    recording = tmp_path / "made.perfprobe"
    outcome = perfprobe(["-q", "-o", str(recording), "--json", "report.json", "program.py"], tmp_path)
    took_ns = json.loads(outcome.out)
    tables = json.loads((tmp_path / "report.json").read_text())["tables"]
    rows = {(row["function"], row["line"], row["to_line"]): row for row in tables["between"]}
    # Both clocks are the same. An interval contains everything that the program measured in it.
    stage = rows["augment", 11, 16]
    assert (stage["count"], stage["caller_line"]) == (3, 23)
    assert stage["total_ns"] >= took_ns["numpy"]
    waits = [
        rows["main", 24, 22],
        next(row for key, row in rows.items() if key[0] is None and row["kind"] == "end"),
    ]
    assert waits[0]["count"] == 2
    assert sum(row["total_ns"] for row in waits) >= took_ns["wait"]
    # The wall time is the sum of operators and the intervals between them, to the nanosecond.
    between_ns = sum(row["total_ns"] for row in tables["between"])
    assert between_ns + outermost_ns(recording) == tables["totals"][0]["wall_ns"]
    assert [row["kind"] for row in tables["between"]][:2] == ["start", "end"]


def outermost_ns(recording: Path) -> int:
    """The time of outermost operators. This program has no ranges."""
    total = 0
    for batch in link(storage.read(recording)).operators():
        rows: Any = batch.depth == 0
        total += int((batch.end_ns - batch.start_ns)[rows].sum())
    return total
