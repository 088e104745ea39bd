"""Changes put on a program by `--try`: what they do, that they are counted, and that they are taken off."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import torch

from perfprobe.collect.tries import collector
from perfprobe.collect.tries.change import Change
from perfprobe.collect.tries.declared import MODULE, TRIES, Asked, asked, usages
from perfprobe.runs import Run
from perfprobe.support.errors import UsageError
from perfprobe.tables.tries import Tries
from tests.snapshots import Snapshot

TORCH = str(Path(torch.__file__).parent) + "/"


@contextmanager
def put(*words: str) -> Iterator[list[Change]]:
    """Has these changes on torch, in this process."""
    changes: list[Change] = []
    for one in reversed(asked(words)):
        changes.insert(0, Change(one.word, one.value, TORCH))
        collector._PATCHES[one.name](torch, changes[0])
    try:
        yield changes
    finally:
        for change in reversed(changes):
            change.undo()


class Kept(torch.nn.Module):
    """Keeps what its forward pass saw."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.seen: list[Any] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.inner(x)
        self.seen.append((torch.is_grad_enabled(), y.dtype, torch.get_default_dtype()))
        return y


def test_every_patch_is_taken_off() -> None:
    kinds = [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Optimizer, torch.nn.Module]
    kinds.append(torch.utils.data.DataLoader)
    before = [dict(vars(kind)) for kind in kinds]
    for name, one in TRIES.items():
        if name in collector._PATCHES and name != "flush-denormals":
            with put(usages(name)[0].replace("=N", "=1")):
                assert [dict(vars(kind)) for kind in kinds] != before, one.means
            assert [dict(vars(kind)) for kind in kinds] == before


@pytest.mark.parametrize("name", ["fused", "foreach"])
def test_optimizers_are_made_with_it_once_each(name: str) -> None:
    parameters = [torch.nn.Parameter(torch.ones(2))]
    with put(name) as (change,):
        found = [kind(parameters, 0.1) for kind in (torch.optim.AdamW, torch.optim.SGD)]
        own = torch.optim.Adam(parameters, **{name: True})
        torch.optim.LBFGS(parameters)
    assert [each.defaults[name] for each in (*found, own)] == [True] * 3
    assert change.times == 2
    assert str(change.place["file"]).endswith("test_tries.py")


def test_gradients_are_dropped_where_they_were_zeroed() -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for zero, times in ((optimizer.zero_grad, 0), (lambda: optimizer.zero_grad(set_to_none=False), 1)):
        model(torch.ones(1, 2)).sum().backward()
        with put("set-to-none") as (change,):
            zero()
        assert (model.weight.grad, change.times) == (None, times)


def test_loaders_get_other_arguments() -> None:
    data = torch.utils.data.TensorDataset(torch.ones(4, 1))
    with put("workers=1", "persistent-workers", "prefetch=3", "worker-threads=2") as changes:
        made = torch.utils.data.DataLoader(data, 2, True)
        assert (made.num_workers, made.persistent_workers, made.prefetch_factor) == (1, True, 3)
        assert made.batch_size == 2
        before = torch.get_num_threads()
        made.worker_init_fn(0)
        assert torch.get_num_threads() == 2
        torch.set_num_threads(before)
        assert [change.times for change in changes] == [1, 1, 1, 1]
        plain = torch.utils.data.DataLoader(Endless(), batch_size=2)
        assert plain.num_workers == 0
    with put("workers=0") as (change,):
        few = torch.utils.data.DataLoader(data, num_workers=2, prefetch_factor=3, persistent_workers=True)
    assert (few.num_workers, few.prefetch_factor, change.times) == (0, None, 1)


class Endless(torch.utils.data.IterableDataset[int]):
    """It would give its data once for each worker."""

    def __iter__(self) -> Iterator[int]:
        yield from range(4)


def test_no_grad_is_for_models_in_eval_whose_inputs_need_none() -> None:
    model, x = Kept(), torch.ones(1, 4)
    with put("no-grad") as (change,):
        model(x)
        model.eval()
        model(x)
        model(x.clone().requires_grad_())
    assert [grad for grad, _, _ in model.seen] == [True, False, True]
    assert change.times == 1


def test_dtypes_change_inside_and_not_outside() -> None:
    model = Kept()
    with put("bf16") as (change,):
        assert model(torch.ones(1, 4)).dtype == torch.float32
    assert (model.seen[-1][1], change.times) == (torch.bfloat16, 1)
    model.double()
    weight = model.inner.weight
    with put("float32") as (change,):
        assert model(torch.ones(1, 4, dtype=torch.float64)).dtype == torch.float64
        assert model(torch.ones(1, 4, dtype=torch.float64)).dtype == torch.float64
    assert model.seen[-1][1] == torch.float32
    assert model.inner.weight is weight  # the optimizer has it
    assert change.times == 2


def test_images_and_weights_are_channels_last() -> None:
    model = torch.nn.Conv2d(3, 4, 3)
    with put("channels-last") as (change,):
        found = model(torch.ones(2, 3, 8, 8))
        torch.nn.Linear(2, 2)(torch.ones(1, 2))
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert change.times == 1


def test_a_model_is_compiled_once() -> None:
    model = Kept()
    compiled: list[object] = []
    model.compile = lambda: compiled.append(model)
    with put("compile") as (change,):
        for _ in range(2):
            model(torch.ones(1, 4))
        torch.nn.CrossEntropyLoss()(torch.ones(1, 4), torch.tensor([1]))
    assert (compiled, change.times) == ([model], 1)


def test_objects_are_frozen_once() -> None:
    with put("gc=freeze") as (change,):
        for _ in range(2):
            torch.nn.Identity()(torch.ones(1))
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    assert (frozen > 0, change.times) == (True, 1)


def test_each_try_that_is_put_around_modules_leaves_errors_and_results_alone() -> None:
    model = torch.nn.Linear(2, 2)
    expected = model(torch.ones(1, 2))
    for name, one in TRIES.items():
        if one.put == MODULE and name not in ("bf16", "compile"):
            with put(usages(name)[0]):
                assert torch.equal(model(torch.ones(1, 2)), expected)
                with pytest.raises(RuntimeError, match="shapes"):
                    model(torch.ones(1, 3))
                assert torch.equal(model(torch.ones(1, 2)), expected)
    gc.unfreeze()


REFUSED = ("fusd", "fused=1", "workers", "workers=two", "threads=0", "fused foreach", "wait-policy=lazy")


def test_what_is_no_try_is_refused(snapshot: Snapshot) -> None:
    said = []
    for words in (*REFUSED, "thp thp", "gc", "x"):
        with pytest.raises(UsageError) as raised:
            asked(words.split())
        said.append(f"{raised.value}\n")
    snapshot("".join(said))


def test_a_word_is_said_as_code() -> None:
    assert Asked("workers=3").code == "DataLoader(..., num_workers=3)"
    assert Asked("threads=2").variables() == {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}


PROGRAM = """
    import os, sys
    early = [name for name in ("typing", "tempfile", "difflib", "shlex", "torch") if name in sys.modules]
    import torch
    print(early, os.environ["OMP_NUM_THREADS"], torch.get_num_threads(), torch.optim.SGD.__init__.__name__)
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    data = torch.utils.data.TensorDataset(torch.ones(24, 4))
    for x, in torch.utils.data.DataLoader(data, 2):
        optimizer.zero_grad()
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        print(loss.item())
    model.eval()
    print(model(torch.ones(2, 4)).sum().item())
    if "threads" in sys.argv:
        torch.set_num_threads(2)
"""


def recorded(folder: Path, *words: str, program: str = "") -> tuple[Run, list[str], str]:
    (folder / "train.py").write_text(dedent(PROGRAM))
    command = [sys.executable, "-m", "perfprobe", "run", "-q", "-o", "run.perfprobe", "--benchmark", *words]
    ran = subprocess.run(
        [*command, "train.py", program], cwd=folder, capture_output=True, text=True, check=True
    )
    return Run(str(folder / "run.perfprobe")), ran.stdout.splitlines(), ran.stderr


def test_a_run_records_what_was_tried_and_what_came_of_it(tmp_path: Path) -> None:
    words = ("--try", "threads=1", "--try", "foreach", "--try", "channels-last", "--results")
    run, printed, said = recorded(tmp_path, *words)
    assert printed[0] == "[] 1 1 __init__"
    table = run.find((Tries,))[Tries]
    assert [*zip(table.word, table.times, strict=True)] == [
        ("threads=1", 1),
        ("foreach", 1),
        ("channels-last", 0),
    ]
    assert table.place[1] == "train.py:8"
    assert "channels-last was never" in said
    results: Any = run.recording.fact("results")
    assert results["roots"] == printed[1:13]
    assert (results["outputs"], results["output_calls"]) == (printed[13:], 1)
    assert (results["batches"], results["samples"], len(results["first_batches"])) == (12, 24, 3)


def test_a_benchmark_ends_after_its_steps(tmp_path: Path) -> None:
    run, printed, _ = recorded(
        tmp_path, "--try", "threads=1", "--steps", ":5", "--exit-after", program="threads"
    )
    assert len(printed) - 1 in (5, 6)
    assert run.recording.fact("results") is None


def test_threads_that_the_program_sets_itself_are_not_tried(tmp_path: Path) -> None:
    run, _, said = recorded(tmp_path, "--try", "threads=1", program="threads")
    assert run.find((Tries,))[Tries].times[0] == 0
    assert "threads=1 was never" in said
