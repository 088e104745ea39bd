"""`run --benchmark` beside a loop that the program times itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from perfprobe.collect.options import Options
from perfprobe.support.errors import UsageError
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.recording import Recording
from tests.snapshots import Snapshot, timeless

# Two epochs of 12 training batches, the last of 4 samples, each followed by an evaluation. It notes when
# it asked for a batch, had it, and was done with the step, and the size of the batch.
TRAIN = """
import json, sys, time
import torch
from torch.utils.data import DataLoader, TensorDataset

def main():
    inputs = TensorDataset(torch.randn(92, 16), torch.randn(92, 1))
    loader, validation = DataLoader(inputs, 8, num_workers={workers}), DataLoader(inputs, 46)
    model = torch.nn.Linear(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    steps = []
    for epoch in range(2):
        asked = time.monotonic_ns()
        for x, y in loader:
            given = time.monotonic_ns()
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            done = time.monotonic_ns()
            steps.append((asked, given, done, len(x)))
            asked = time.monotonic_ns()
        with torch.no_grad():
            for x, y in validation:
                model(x)
    print(json.dumps(steps))

if __name__ == "__main__":
    main()
"""


def run(folder: Path, source: str, *options: str) -> tuple[str, str, Recording]:
    (folder / "train.py").write_text(dedent(source))
    words = ["-m", "perfprobe", "run", "-o", "run.perfprobe", *options, "train.py"]
    ran = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=True)
    return ran.stdout, ran.stderr, storage.read(folder / "run.perfprobe")


def said(err: str) -> str:
    """The report without its rows of measured values."""
    lines = [line for line in err.splitlines() if line.startswith(("Benchmark", "Left out"))]
    return timeless("\n".join(lines))


@pytest.mark.parametrize("workers", [0, 1])
def test_each_step_lies_where_the_program_itself_saw_it(tmp_path: Path, workers: int) -> None:
    out, _, recording = run(tmp_path, TRAIN.format(workers=workers), "--benchmark", "-q")
    reported, rows = json.loads(out), recording[LiveSteps]
    own = rows.take(rows.is_evaluation == 0)
    assert own.number.tolist() == list(range(24))
    assert own.samples.tolist() == [size for *_, size in reported]
    for row, (asked, given, done, _) in enumerate(reported):
        end, reader = own.end_ns[row], own.reader_ns[row]
        assert row == 12 or asked <= own.start_ns[row] <= given  # 12: its loader's iterator had to be made
        assert end >= done  # an epoch asks for one batch more than there is
        assert reader <= given - asked or row == 12
    assert len(rows) - len(own) == 2
    assert set(recording[Losses].source.tolist()) == ({"processes"} if workers else set())


def test_report_and_json_have_what_a_count_by_hand_gives(tmp_path: Path, snapshot: Snapshot) -> None:
    out, err, recording = run(
        tmp_path, TRAIN.format(workers=0), "--benchmark", "--warmup", "5", "--json", "run.json"
    )
    document = json.loads((tmp_path / "run.json").read_text())
    rows = recording[LiveSteps]
    kept = rows.take((rows.is_evaluation == 0) & (rows.number >= 5))
    (loop,) = document["tables"]["benchmark"]
    assert (loop["steps"], loop["left_out"], loop["evaluations"], loop["found_by"]) == (19, 5, 2, "optimizer")
    assert loop["samples"] == sum(size for *_, size in json.loads(out)[5:])
    measures = {row["measure"]: row for row in document["tables"]["benchmark_measures"]}
    times = sorted((kept.end_ns - kept.start_ns).tolist())
    batch = measures["batch_cost"]
    assert (batch["min"], batch["median"], batch["max"]) == (times[0], times[9], times[18])
    assert (batch["low"], batch["high"]) == (times[4], times[14])  # the sign test's table for 19 values
    assert batch["p95"] == times[18]  # the 19th of 19 by nearest rank
    assert measures["ips"]["average"] == pytest.approx(loop["samples"] / sum(times) * 1e9)
    assert measures["ips"]["unit"] == "samples/s"
    assert loop["reader_share"] == pytest.approx(kept.reader_ns.sum() / sum(times))
    snapshot(said(err))


def test_a_line_after_every_n_steps_behind_the_warm_up(tmp_path: Path) -> None:
    options = ("--benchmark", "--warmup", "4", "--every-step-line", "10", "-q")
    _, err, _ = run(tmp_path, TRAIN.format(workers=0), *options)
    lines = [line for line in err.splitlines() if line.startswith("perfprobe: step ")]
    assert [line.split(":")[1] for line in lines] == [" step 13", " step 23"]
    assert all("batch_cost" in line and "reader_cost" in line and "samples/s" in line for line in lines)


def test_no_operator_is_recorded_and_callbacks_of_operators_are_none(
    tmp_path: Path, snapshot: Snapshot
) -> None:
    source = """
        import torch
        import perfprobe
        for _ in range(12):
            perfprobe.step()
            torch.ones(3) + 1
    """
    _, err, recording = run(tmp_path, source, "--benchmark", "--warmup", "0")
    assert recording.fact("recording", "operators") == "off"
    assert len(list(recording.operators())) == 0
    rows = recording[LiveSteps]
    assert rows.number.tolist() == list(range(1, 12))  # nothing says when the first one began
    snapshot(said(err))


def test_of_ten_steps_most_are_measured(tmp_path: Path) -> None:
    source = """
        import torch
        weights = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([weights], 0.1)
        for _ in range(10):
            weights.sum().backward()
            optimizer.step()
    """
    _, err, recording = run(tmp_path, source, "--benchmark", "--json", "run.json")
    rows = recording[LiveSteps]
    assert rows.number.tolist() == list(range(1, 10))  # nothing says when the first one began
    tables = json.loads((tmp_path / "run.json").read_text())["tables"]
    (loop,) = tables["benchmark"]
    assert (loop["steps"], loop["left_out"], loop["warm_up"]) == (8, 1, 10)
    batch = next(row for row in tables["benchmark_measures"] if row["measure"] == "batch_cost")
    times = sorted((rows.end_ns - rows.start_ns)[1:].tolist())
    assert (batch["low"], batch["high"]) == (times[0], times[-1])  # of eight values, the whole range
    assert "interval" in err


def test_without_steps_the_report_says_what_is_taken_as_a_step(tmp_path: Path, snapshot: Snapshot) -> None:
    _, err, recording = run(tmp_path, "print('nothing')", "--benchmark")
    shown, _, _ = err.partition("\n\n")
    snapshot(" ".join(shown.split()), losses="\n".join(recording[Losses].reason.tolist()))


def test_sizes_of_batches_of_all_kinds(tmp_path: Path, snapshot: Snapshot) -> None:
    # In its own process: where an optimizer was made before, batches alone are not taken as steps.
    source = """
        from collections import UserDict, namedtuple
        import torch

        Pair = namedtuple("Pair", "x y")
        five, three = torch.ones(5, 2), torch.ones(3)
        batches = [
            five,
            [five, torch.ones(5)],
            {"x": five, "n": torch.tensor(3), "text": "abc"},
            Pair(five, [five]),
            UserDict(x=five),
            (five, three),
            [1, 2],
        ]
        for batch in batches:
            for _ in torch.utils.data.DataLoader([0], batch_size=None, collate_fn=lambda _: batch):
                pass
    """
    _, err, recording = run(tmp_path, source, "--benchmark")
    assert recording[LiveSteps].samples.tolist() == [5, 5, 5, 5, 5, -1, -1]
    snapshot(said(err))


def test_options_that_a_benchmark_excludes() -> None:
    with pytest.raises(UsageError, match="add --benchmark"):
        Options(every_step_line=3)
    with pytest.raises(UsageError, match="records no operators"):
        Options(benchmark=True, emit="nvtx")
    assert Options(benchmark=True).python == "off"
