"""Recording memory does not change the program, and is right for threads, children and older storages."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch

import perfprobe
from perfprobe.merge import link
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.memory import MemoryUse, Storages
from perfprobe.tables.strings import Strings
from tests.collect import runs
from tests.eager import WHOLE_TORCH
from tests.merge.stored import storages_of

PROGRAM = """\
import json, os, threading, tracemalloc
import torch

torch.set_num_threads(1)
tracemalloc.start()
kept = [torch.ones(1000) for _ in range(100)]


def work():
    for _ in range(50):
        torch.ones(1000).add(1)


threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
child = os.fork()
if child == 0:
    del kept
    torch.ones(5000).sum()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for thread in threads:
    thread.join()


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, place):
        return torch.full((4,), float(place))


loader = torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2, multiprocessing_context="fork")
print(sum(batch.sum().item() for batch in loader))
own = [each for each in tracemalloc.take_snapshot().statistics("lineno") if each.traceback[0].lineno == 6]
print([(each.count, each.size) for each in own if each.traceback[0].filename.endswith("program.py")])
tracemalloc.stop()
print(kept[0].clone().resize_(2000).shape)

# torch's own snapshots of memory on the CPU: what existed, was created, written to and destroyed.
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))


def train():
    for _ in range(3):
        model(torch.ones(16, 32)).sum().backward()
        model.zero_grad()


train()
with torch.profiler.profile(profile_memory=True, record_shapes=True, with_stack=True) as profiler:
    train()
events = [(action.name, size) for _, action, _, size in profiler._memory_profile().timeline]
print(len(events), sum(size for action, size in events if action == "CREATE"), hash(str(events)))
profiler.export_memory_timeline("timeline.json", device="cpu")
with open("timeline.json") as file:
    print(max(map(sum, json.load(file)[1])))
"""


# Of texts in both processes. With less of torch, tracemalloc counts one object more or less (seen: 101, 102).
SAME_HASHES = {**WHOLE_TORCH, "PYTHONHASHSEED": "0"}


def storages(path: Path) -> Storages:
    memory = link(storage.read(path)).memory
    assert memory is not None
    return storages_of(memory)


def test_forks_workers_tracemalloc_and_snapshots_of_torch_behave_as_without_recording(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    for name in ("plain", "recorded"):
        (tmp_path / name).mkdir()
    plain = runs.start(["../program.py"], tmp_path / "plain", SAME_HASHES)
    words = [
        "-m",
        "perfprobe",
        "run",
        "-q",
        "--python",
        "off",
        "--memory",
        "-o",
        "run.perfprobe",
        "../program.py",
    ]
    recorded = runs.finish(runs.start(words, tmp_path / "recorded", SAME_HASHES))
    expected = runs.finish(plain)
    assert (recorded.status, recorded.out) == (expected.status, expected.out)
    found = storages(tmp_path / "recorded" / "run.perfprobe")
    ones = found.take(found.size_bytes == 4000)
    assert len(ones) == 100 + 3 * 50 * 2 + 1  # the last one is the clone that is resized
    assert int((found.size_bytes == 20_000).sum()) == 0  # allocated in the child
    assert int((ones.end_ns < 0).sum()) == 100


def test_a_storage_freed_by_another_thread_belongs_to_the_one_that_allocated_it(tmp_path: Path) -> None:
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path, python="off", memory=True):
        made = [torch.ones(123)]
        thread = threading.Thread(target=made.clear)
        thread.start()
        thread.join()
    found = storages(path)
    own = found.take(found.size_bytes == 123 * 4)
    assert len(own) == 1
    assert own.end_ns[0] > own.start_ns[0]
    assert own.freed_thread[0] not in (-1, own.thread[0])


def test_parameters_older_than_the_recording_are_named(tmp_path: Path) -> None:
    model = torch.nn.Linear(64, 32)
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path, python="off", memory=True):
        for _ in range(3):
            model(torch.ones(8, 64)).sum().backward()
            model.zero_grad()
    results = Results(str(path))
    use = results.findings(View(), (MemoryUse,))[MemoryUse]
    assert "Parameters and buffers of 8.12 KiB are older" in results.text(View(view="memory"))
    assert use.older_bytes == (64 * 32 + 32) * 4
    assert use.held_bytes == 0


def test_storages_outlive_the_recording(tmp_path: Path) -> None:
    with perfprobe.profile(tmp_path / "first.perfprobe", python="off", memory=True):
        kept = [torch.ones(1000) for _ in range(10)]
    one = kept.pop().resize_(5000)  # by the allocator that allocated it
    with perfprobe.profile(tmp_path / "second.perfprobe", python="off", memory=True):
        kept.clear()
        two = torch.ones(77)
    del one, two
    assert len(storages(tmp_path / "first.perfprobe")) >= 10
    found = storages(tmp_path / "second.perfprobe")
    assert found.size_bytes.tolist() == [77 * 4]


def test_a_lazy_copy_allocates_when_it_is_written(tmp_path: Path) -> None:
    with perfprobe.profile(tmp_path / "run.perfprobe", python="off", memory=True):
        first = torch.ones(999)
        lazy = torch._lazy_clone(first)
        before = lazy.untyped_storage()._cdata, torch.equal(lazy, first)
        lazy.add_(1)
    assert before[1]
    assert (first.sum().item(), lazy.sum().item()) == (999.0, 1998.0)
    found = storages(tmp_path / "run.perfprobe")
    assert int((found.size_bytes == 999 * 4).sum()) == 2


@pytest.mark.parametrize("memory", [False, True], ids=["without", "with"])
def test_operators_have_the_bytes_that_they_allocated_themselves(tmp_path: Path, memory: bool) -> None:
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path, python="off", memory=memory):
        torch.zeros(1000).exp()
    trace = link(storage.read(path))
    strings = trace.recording[Strings]
    sums: dict[str, int] = {}
    for batch in trace.operators():
        for name, own in zip(batch.name.tolist(), batch.allocated_bytes.tolist(), strict=True):
            sums[strings[name]] = own
    assert sums["aten::exp"] == (4000 if memory else -1)
    assert sums["aten::zeros"] == (0 if memory else -1)
    assert sums["aten::empty"] == (4000 if memory else -1)
