"""An article on Paddle's profiler: its tables, made here from recordings, and its impossible figures.

The article tunes a small network on cifar10. It shows Model Summary and Perf Summary before and after the
loader got four workers. The single steps that it prints are rebuilt here as recordings, and our tables of
these are compared with the article's.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from perfprobe.merge import link
from perfprobe.report.render.json import document
from perfprobe.report.section.listed import PEER_SECTIONS, kinds_of
from tests.build import Program, op
from tests.collect.runs import perfprobe
from tests.found import find
from tests.report.test_text import META

STEPS = 11
ROUNDING = 0.005  # it prints two decimals
NS_PER_MS = 1_000_000


class Printed(NamedTuple):
    """A row of its Model Summary: milliseconds and percent."""

    total: float
    avg: float
    longest: float
    shortest: float
    ratio: float
    gpu_total: float
    gpu_ratio: float


BEFORE = {
    "ProfileStep": Printed(138.99, 12.64, 17.91, 10.65, 100.0, 8.81, 100.0),
    "Dataloader": Printed(16.88, 1.53, 6.91, 0.09, 12.14, 0.0, 0.0),
    "Forward": Printed(45.18, 4.11, 4.41, 3.61, 32.50, 2.73, 31.01),
    "Backward": Printed(27.63, 2.51, 2.85, 2.37, 19.88, 4.04, 45.81),
    "Optimization": Printed(19.75, 1.80, 1.89, 1.61, 14.21, 1.05, 11.56),
}
AFTER = {
    "ProfileStep": Printed(89.44, 8.13, 8.76, 7.82, 100.0, 8.82, 100.0),
    "Dataloader": Printed(1.51, 0.14, 0.16, 0.12, 1.69, 0.0, 0.0),
    "Forward": Printed(31.67, 2.88, 3.17, 2.82, 35.41, 2.72, 36.11),
    "Backward": Printed(25.35, 2.30, 2.49, 2.20, 28.34, 4.07, 42.52),
    "Optimization": Printed(11.67, 1.06, 1.16, 1.01, 13.04, 1.04, 10.59),
}
OTHERS = {"before": (29.55, 21.26, 1.05, 11.63), "after": (19.25, 21.52, 1.06, 10.78)}
PRINTED = {"before": BEFORE, "after": AFTER}


def spread_ns(row: Printed) -> list[int]:
    """Durations of eleven calls with the total, maximum and minimum of the row.

    The longest is in the middle, because at the beginning it would count as warm-up.
    """
    whole, most, least = (round(value * NS_PER_MS) for value in (row.total, row.longest, row.shortest))
    rest, each = whole - most - least, (whole - most - least) // (STEPS - 2)
    found = [*[each] * 5, most, *[each] * (STEPS - 8), rest - each * (STEPS - 3), least]
    assert sum(found) == whole
    assert least <= min(found) <= max(found) <= most
    return found


def rebuilt(printed: dict[str, Printed], others_gpu_ms: float) -> Program:
    """A recording of these steps: each has the four phases in sequence, and the work that they launched."""
    steps_ns = spread_ns(printed["ProfileStep"])
    parts = {name: spread_ns(row) for name, row in printed.items() if name != "ProfileStep"}
    end_ns = sum(steps_ns)
    program = Program(**{**META, "stop": {"monotonic_ns": end_ns, "cpu_ns": end_ns}, "gpu": {"devices": []}})
    thread, net = program.thread(1), program.module("", "MyNet")
    stack = program.stack("/p/train.py:20 train")
    call = program.stack("/p/train.py:22 train", ("/p/net.py:9 forward", net))
    backward = program.stack(
        "/p/train.py:23 train", "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
    )
    starts_ns = [0, *accumulate(steps_ns)]
    for number in range(STEPS):
        at, ends = starts_ns[number], {}
        for name, each in parts.items():
            start, at = at, at + each[number]
            if name == "Optimization":  # a step ends with it, so everything else comes before
                at = starts_ns[number + 1]
                start = at - each[number]
            ends[name] = (start, at)
        node = {"node_sequence": number, "node_thread": 1}
        program.run(
            op("enumerate(DataLoader)#_Next", *ends["Dataloader"], stack=stack, scope=7),
            op("aten::conv2d", *ends["Forward"], stack=call, sequence=number),
            op("aten::mm", *ends["Backward"], stack=backward, **node),
            op("Optimizer.step#Adam.step", *ends["Optimization"], stack=stack, scope=7),
            thread=thread,
        )
        between = ends["Backward"][1]
        launches = {name: start for name, (start, _) in ends.items()} | {"Others": between}
        for place, (name, start) in enumerate(launches.items()):
            whole_ms = others_gpu_ms if name == "Others" else printed[name].gpu_total
            if whole_ms:
                correlation, took_ns = number * 10 + place, round(whole_ms / STEPS * NS_PER_MS)
                program.api_call("cudaLaunchKernel", start + 1, start + 100, correlation)
                program.kernel(name, start + 200, start + 200 + took_ns, correlation)
    return program


@cache
def tables(which: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The rows of all our tables by name."""
    program = rebuilt(PRINTED[which], OTHERS[which][2])
    found = document(find(link(program.recording(folder)), *kinds_of(PEER_SECTIONS)))["tables"]
    return {
        table: {row.get("name") or row.get("type"): row for row in rows}
        for table, rows in found.items()
        if table in ("paddle_model", "paddle_perf", "paddle_overview")
    }


@pytest.fixture(scope="module", params=PRINTED)
def which(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("article")


def test_its_model_summary_equals_ours_for_the_same_steps(which: str, folder: Path) -> None:
    rows = tables(which, folder)["paddle_model"]
    for name, printed in PRINTED[which].items():
        row = rows[name]
        assert row["calls"] == STEPS
        ours = [row[f"cpu_{each}_ns"] / NS_PER_MS for each in ("total", "avg", "max", "min")]
        assert ours == pytest.approx(list(printed[:4]), abs=ROUNDING)
        assert row["cpu_ratio"] * 100 == pytest.approx(printed.ratio, abs=0.01)
        assert row["gpu_total_ns"] / NS_PER_MS == pytest.approx(
            printed.gpu_total, abs=0.08 if name == "ProfileStep" else ROUNDING
        )
    total, ratio, _, _ = OTHERS[which]
    assert rows["Others"]["cpu_total_ns"] / NS_PER_MS == pytest.approx(total, abs=0.02)
    assert rows["Others"]["cpu_ratio"] * 100 == pytest.approx(ratio, abs=0.02)


def test_definitions_of_its_perf_summary(which: str, folder: Path) -> None:
    rows, model = tables(which, folder)["paddle_perf"], PRINTED[which]
    assert rows["batch_cost"]["avg"] / NS_PER_MS == pytest.approx(model["ProfileStep"].avg, abs=ROUNDING)
    assert rows["reader_cost"]["max"] / NS_PER_MS == pytest.approx(model["Dataloader"].longest)
    assert rows["ips"]["avg"] == pytest.approx(1e9 / rows["batch_cost"]["avg"])
    assert rows["ips"]["max"] == pytest.approx(1e9 / rows["batch_cost"]["min"])
    for row in rows.values():
        assert row["min"] <= row["avg"] <= row["max"]


def test_types_of_its_overview(which: str, folder: Path) -> None:
    rows = tables(which, folder)["paddle_overview"]
    assert rows["ProfileStep"]["ratio"] == 1
    for name in ("Dataloader", "Forward", "Backward", "Optimization"):
        assert rows[name]["time_ns"] / NS_PER_MS == pytest.approx(PRINTED[which][name].total, abs=ROUNDING)
    assert rows["Kernel"]["on_gpu"] is True


# Impossible figures, each compared with our tables of the same steps or disproved by arithmetic.


def test_an_average_cannot_exceed_the_maximum(folder: Path) -> None:
    """Perf Summary before: batch_cost avg 0.01408 above max 0.01325; after: 0.00728 above 0.00690."""
    ours = tables("before", folder)["paddle_perf"]["batch_cost"]
    assert ours["avg"] <= ours["max"]
    for avg, longest in ((0.01408, 0.01325), (0.00728, 0.00690)):
        assert avg - longest > 1e-5  # more than rounding to five decimals explains


def test_a_minimum_cannot_exceed_the_average(folder: Path) -> None:
    """ips: min 75.46403 above avg 70.99914; after: min 144.91796 above avg 137.30879."""
    ours = tables("before", folder)["paddle_perf"]["ips"]
    assert ours["min"] <= ours["avg"]
    for least, avg, longest_s in ((75.46403, 70.99914, 0.01325), (144.91796, 137.30879, 0.00690)):
        assert least > avg
        # It is the inverse of the maximum of batch_cost: the average includes steps that max and min leave
        # out.
        assert 1 / least == pytest.approx(longest_s, abs=1e-5)


def test_the_gpu_ratio_of_forward_cannot_be_36_percent(folder: Path) -> None:
    """2.72 of 8.82 ms are 30.84 %. With 36.11 % the whole would be 7.53 ms."""
    forward = tables("after", folder)["paddle_model"]["Forward"]
    printed = AFTER["Forward"]
    low, high = ((2.72 + sign * ROUNDING) / (8.82 - sign * ROUNDING) * 100 for sign in (-1, 1))
    assert not low <= printed.gpu_ratio <= high
    assert low == pytest.approx(30.77, abs=0.01)
    assert forward["gpu_ratio"] * 100 == pytest.approx(30.6, abs=0.1)  # of the sum of the rows
    # Its rows sum to 8.89 ms, not to the 8.82 of the first: more than five roundings explain.
    parts_ms = sum(row.gpu_total for name, row in AFTER.items() if name != "ProfileStep") + OTHERS["after"][2]
    assert parts_ms - AFTER["ProfileStep"].gpu_total > 6 * ROUNDING


def test_the_loaders_time_fell_and_not_the_steps(folder: Path) -> None:
    before, after = (tables(which, folder)["paddle_model"] for which in ("before", "after"))

    def avg_ms(rows: dict[str, Any], name: str) -> float:
        return float(rows[name]["cpu_avg_ns"]) / NS_PER_MS

    assert (avg_ms(before, "Dataloader"), avg_ms(after, "Dataloader")) == pytest.approx(
        (1.53, 0.14), abs=0.01
    )
    assert (avg_ms(before, "ProfileStep"), avg_ms(after, "ProfileStep")) == pytest.approx(
        (12.64, 8.13), abs=0.01
    )


def test_1200_samples_per_second_contradict_46_ms_per_batch() -> None:
    """The first article: a step of 46 ms with batch size 32."""
    samples_per_s, step_s = 32 / 0.046, 32 / 1200
    assert samples_per_s == pytest.approx(695.7, abs=0.1)
    assert step_s == pytest.approx(0.0267, abs=0.0001)  # the duration that a step would need


def test_193_percent_is_a_factor_and_not_an_increase() -> None:
    factor = 137.30879 / 70.99914
    assert factor == pytest.approx(1.934, abs=0.001)
    assert factor - 1 == pytest.approx(0.934, abs=0.001)  # +93 %, not +193 %


PROGRAM = """
import json, sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
torch.set_num_threads(1)
took = {"Dataloader": [], "Forward": [], "Backward": [], "Optimization": []}
class Timed:
    def __init__(self, name): self.name = name
    def __enter__(self): self.start = time.perf_counter_ns()
    def __exit__(self, *_): took[self.name].append(time.perf_counter_ns() - self.start)
class Cifar(Dataset):
    def __len__(self): return 12 * 16
    def __getitem__(self, at):
        time.sleep(0.001)
        return torch.full((3, 32, 32), at / 200), at % 10
class MyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 32, 3), nn.Conv2d(32, 64, 3)
        self.conv3, self.pool, self.flatten = nn.Conv2d(64, 64, 3), nn.MaxPool2d(2, 2), nn.Flatten()
        self.linear1, self.linear2 = nn.Linear(1024, 64), nn.Linear(64, 10)
    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.relu(self.conv3(x))
        return self.linear2(torch.relu(self.linear1(self.flatten(x))))
model = MyNet()
opt = torch.optim.SGD(model.parameters(), lr=0.001)
batches = iter(DataLoader(Cifar(), batch_size=16, num_workers=int(sys.argv[1])))
while True:
    with Timed("Dataloader"):
        batch = next(batches, None)
    if batch is None:
        break
    with Timed("Forward"):
        logits = model(batch[0])
    loss = nn.functional.cross_entropy(logits, batch[1])
    with Timed("Backward"):
        loss.backward()
    with Timed("Optimization"):
        opt.step()
    opt.zero_grad()
print(json.dumps(took))
"""


def recorded(folder: Path, workers: int, name: str) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Our tables of the article's network, and the program's own times of each step."""
    (folder / "train.py").write_text(PROGRAM)
    words = ["-q", "-o", f"{name}.perfprobe", "--json", f"{name}.json", "train.py", str(workers)]
    outcome = perfprobe(words, folder)
    assert outcome.status == 0, outcome.err.decode()
    found = json.loads((folder / f"{name}.json").read_text())["tables"]
    return found, json.loads(outcome.out)


def off_ns(rows: dict[str, Any], took_ns: dict[str, list[int]], kept: list[int]) -> float:
    """The largest deviation of a phase from the program's own time, beyond a tenth of it."""
    sums_ns = {name: sum(each_ns[at] for at in kept) for name, each_ns in took_ns.items()}
    return max(abs(rows[name]["cpu_total_ns"] - own_ns) - own_ns / 10 for name, own_ns in sums_ns.items())


@pytest.mark.parametrize("workers", [0, 2])
def test_the_articles_network_with_and_without_workers(tmp_path: Path, workers: int) -> None:
    """A program delayed between its clock and ours is run again. Wrong definitions always deviate."""
    pytest.importorskip("torch")
    for attempt in range(5):
        found, took_ns = recorded(tmp_path, workers, f"run{attempt}")
        rows = {row["name"]: row for row in found["paddle_model"]}
        kept = [at for at, row in enumerate(found["steps"]) if row["mark"] == "steady"]
        steps = rows["ProfileStep"]["calls"]
        assert rows["Dataloader"]["calls"] == rows["Forward"]["calls"] == rows["Backward"]["calls"] == steps
        parts_ns = sum(rows[name]["cpu_total_ns"] for name in took_ns)
        assert parts_ns + rows["Others"]["cpu_total_ns"] == rows["ProfileStep"]["cpu_total_ns"]
        assert steps == len(kept) >= 8
        perf = {row["name"]: row for row in found["paddle_perf"]}
        reader = perf["reader_cost"]["avg"] / perf["batch_cost"]["avg"]
        assert reader == pytest.approx(rows["Dataloader"]["cpu_ratio"])
        if (off := off_ns(rows, took_ns, kept)) <= 5 * NS_PER_MS:
            return
    pytest.fail(f"{off / NS_PER_MS:.1f} ms off")
