"""Memory of GPUs, with a stand-in for torch's allocator: what it counted is what is recorded and shown."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.device_memory import DeviceReadings
from perfprobe.tables.events import Losses
from perfprobe.tables.recording import Recording
from tests.collect.runs import Outcome, perfprobe
from tests.snapshots import Snapshot

MIB = 1 << 20
CAPACITY_BYTES = 1 << 30
PROGRAM = """
import ctypes, os, sys, types
import torch

gpu = ctypes.CDLL(os.environ["PERFPROBE_CUPTI"])
gpu.standin_state.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_long]
gpu.standin_register("refused" in sys.argv)
torch.cuda.is_initialized = lambda: True
torch.cuda.device_count = lambda: 2
torch.cuda.get_device_properties = lambda device: types.SimpleNamespace(name="stand-in", total_memory=1 << 30)

torch.set_num_threads(1)
weight = torch.nn.Parameter(torch.ones(4, 4))
optimizer = torch.optim.SGD([weight], 0.1)
MIB = 1 << 20
for step, batch in enumerate(torch.utils.data.DataLoader(torch.ones(9, 4, 4), batch_size=None)):
    if step == 1:
        gpu.standin_initialise()
    gpu.standin_state(1, 700 * MIB, 800 * MIB, 0)  # forward
    batch.mm(weight).sum().backward()
    gpu.standin_state(1, (100 + 2 * step) * MIB, 800 * MIB, step // 4)
    optimizer.step()
    optimizer.zero_grad()
    if os.fork() == 0:
        optimizer.step()
        os._exit(0)
    os.wait()
print(gpu.standin_readings())
"""


@pytest.fixture(scope="module")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler here: the stand-in for torch's allocator cannot be built")
    library = tmp_path_factory.mktemp("allocator") / "allocator.so"
    folder = Path(torch.__file__).parent
    flags = ["-std=c++20", "-O0", "-fPIC", "-shared", "-isystem", str(folder / "include")]
    link = ["-L", str(folder / "lib"), "-lc10"]
    source = Path(__file__).with_name("device_allocator.cpp")
    subprocess.run([compiler, *flags, "-o", library, source, *link], check=True)
    return library


def run(folder: Path, standin: Path | None, *arguments: str) -> tuple[Outcome, Recording]:
    (folder / "main.py").write_text(PROGRAM)
    path = folder / "run.perfprobe"
    given = ["run", "-q", "--memory", "--gpu", "off", "--python", "off", "-o", str(path), "main.py"]
    own = {"PERFPROBE_CUPTI": str(standin), "PERFPROBE_ASSUME_DRIVER": "1"}
    outcome = perfprobe([*given, *arguments], folder, own)
    assert outcome.status == 0, outcome.err
    return outcome, storage.read(path)


def losses(recording: Recording) -> list[str]:
    return [reason for reason in recording[Losses].reason.tolist() if "GPU memory" in reason]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, standin: Path) -> tuple[Outcome, Recording]:
    return run(tmp_path_factory.mktemp("recorded"), standin)


def test_what_the_allocator_counted_is_recorded_when_steps_end(
    recorded: tuple[Outcome, Recording], snapshot: Snapshot
) -> None:
    outcome, recording = recorded
    rows = recording[DeviceReadings]
    assert set(rows.device.tolist()) == {1}  # the other one is not used
    # After the optimizer's step, when the next batch is asked for, and at the end.
    steps = [100 + 2 * step for step in range(1, 9)]
    twice = [each for step in steps for each in (step, step)]
    assert (rows.allocated_bytes // MIB).tolist() == [*twice, steps[-1]]
    assert set((rows.peak_bytes // MIB).tolist()) == {700}
    assert set((rows.reserved_bytes // MIB).tolist()) == {800}
    assert rows.retries.tolist()[-1] == 2
    assert bool((rows.time_ns[1:] >= rows.time_ns[:-1]).all())
    counted = 2 + 1  # devices, and one refusal
    assert int(outcome.out) == counted + 2 * (len(rows) - 1)
    snapshot("\n".join(losses(recording)))


def test_the_report_shows_the_peak_as_a_share_of_the_capacity(
    recorded: tuple[Outcome, Recording], snapshot: Snapshot
) -> None:
    results = Results(recorded[1].path)
    text = results.text(View(view="gpu-memory"))
    # JSON has all lines. On a busy machine the text has no room for the last one.
    tables = json.loads(json.dumps(results.document(View())))["tables"]
    screen = [line["text"] for line in tables["first_screen"] if "GPU 1" in line["text"]]
    (row,) = tables["device_memory"]
    assert (row["device"], row["name"], row["peak_bytes"]) == (1, "stand-in", 700 * MIB)
    assert (row["growth_bytes"], row["held_bytes"], row["retries"]) == (2 * MIB, 116 * MIB, 2)
    assert row["peak_share"] == pytest.approx(700 * MIB / CAPACITY_BYTES)
    snapshot(text, first_screen="\n".join(screen))


def test_an_allocator_that_does_not_count_is_a_loss(
    tmp_path: Path, standin: Path, snapshot: Snapshot
) -> None:
    _, recording = run(tmp_path, standin, "refused")
    assert len(recording[DeviceReadings]) == 0
    snapshot("\n".join(losses(recording)))
