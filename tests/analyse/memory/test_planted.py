"""Peak, held bytes, categories and growth of planted programs, compared with counts by hand."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

import perfprobe
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.memory import MemoryCategory, MemoryUse
from tests.analyse.memory import planted
from tests.collect.recorded import one_thread
from tests.eager import VARIABLES, WHOLE_TORCH

Recorded = Callable[[str], tuple[Results, MemoryUse]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Each program recorded once, from building the model to after its last step."""
    one_thread()
    folder = tmp_path_factory.mktemp("memory")

    @cache
    def of(kind: str) -> tuple[Results, MemoryUse]:
        path = folder / f"{kind}.perfprobe"
        planted.train(kind)  # torch then has made what it makes only once
        gc.collect()
        with perfprobe.profile(path, python="off", memory=True):
            kept = planted.train(kind)
        del kept
        results = Results(str(path))
        return results, results.findings(View(), (MemoryUse,))[MemoryUse]

    return of


@pytest.mark.parametrize("kind", planted.KINDS)
def test_peak_and_held_bytes_equal_a_count_of_all_storages(recorded: Recorded, kind: str) -> None:
    peak_bytes, held_bytes = planted.counted(kind)
    _, use = recorded(kind)
    assert use.peak_bytes == pytest.approx(peak_bytes, rel=0.02)
    assert use.held_bytes == pytest.approx(held_bytes, rel=0.02)
    assert use.older_bytes == 0


@pytest.fixture(scope="module")
def of_malloc(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int]]:
    """Peak and held bytes of each program by a preloaded counter of malloc."""
    library = tmp_path_factory.mktemp("counter") / "counter.so"
    source = Path(__file__).with_name("counter.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    words = [sys.executable, "-m", "tests.analyse.memory.planted", *planted.KINDS]
    root = Path(__file__).parents[3]
    found = subprocess.run(
        words,
        env={**VARIABLES, **WHOLE_TORCH, "LD_PRELOAD": str(library)},
        cwd=root,
        capture_output=True,
        check=True,
    )
    figures = (tuple(map(int, line.split())) for line in found.stdout.splitlines())
    return {kind: (peak, held) for kind, (peak, held) in zip(planted.KINDS, figures, strict=True)}


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("kind", planted.KINDS)
def test_peak_and_held_bytes_equal_those_of_malloc(
    recorded: Recorded, of_malloc: dict[str, tuple[int, int]], kind: str
) -> None:
    peak_bytes, held_bytes = of_malloc[kind]
    _, use = recorded(kind)
    assert use.peak_bytes == pytest.approx(peak_bytes, rel=0.05)
    assert use.held_bytes == pytest.approx(held_bytes, rel=0.05)


def test_memory_alive_for_backward_equals_what_autograd_saved(recorded: Recorded) -> None:
    _, use = recorded("transformer")
    parameter_bytes = sum(each.nbytes for each in planted.Model(checkpoints=False).parameters())
    assert use.backward_bytes is not None
    assert use.backward_bytes + parameter_bytes == pytest.approx(planted.saved_bytes(), rel=0.03)
    assert int(use.lines.backward_bytes.sum()) == pytest.approx(use.backward_bytes, rel=0.001)


def test_the_line_of_a_leak_is_named_with_its_growth(recorded: Recorded) -> None:
    results, use = recorded("leak")
    assert use.growth_bytes == planted.LEAKED_BYTES
    text = Path(planted.__file__).read_text(encoding="utf-8").split("\n")
    line = 1 + next(at for at, each in enumerate(text) if each.endswith("# the leak"))
    shown = results.text(View(view="memory"))
    assert f"20.0 KiB a step: planted.py:{line} 20.0 KiB." in shown
    rows = results.document(View())["tables"]["first_screen"]  # on a busy machine not all have room
    assert any("20.0 KiB a step, " in row["text"] and f"planted.py:{line}" in row["text"] for row in rows)


@pytest.mark.parametrize("kind", ["transformer", "accumulation", "checkpointing"])
def test_nothing_grows_without_a_leak(recorded: Recorded, kind: str) -> None:
    _, use = recorded(kind)
    assert use.growth_bytes == 0
    assert not use.lines.growth_bytes.any()


def test_categories_at_the_peak_equal_those_counted_by_hand(recorded: Recorded) -> None:
    model = planted.Model(checkpoints=False)
    parameter_bytes = sum(each.nbytes for each in model.parameters())
    states = 4 * len(list(model.parameters()))  # Adam's count of steps, a float for each
    _, use = recorded("accumulation")
    at_peak = dict(zip(use.categories.category.tolist(), use.categories.peak_bytes.tolist(), strict=True))
    assert at_peak[MemoryCategory.PARAMETER] == parameter_bytes
    assert at_peak[MemoryCategory.OPTIMIZER] == 2 * parameter_bytes + states
    assert at_peak[MemoryCategory.GRADIENT] == parameter_bytes  # of the earlier micro-batches
    # Without the labels: at the peak, backward of the loss is over, so they are freed.
    assert at_peak[MemoryCategory.INPUT] == planted.BATCH * planted.LENGTH * planted.WIDTH * 4
    assert at_peak[MemoryCategory.ACTIVATION] > 0.4 * use.peak_bytes
    assert sum(at_peak.values()) == use.peak_bytes


def test_checkpointing_leaves_the_inputs_of_its_blocks_alive(recorded: Recorded) -> None:
    _, use = recorded("checkpointing")
    _, whole = recorded("transformer")
    inputs = planted.LAYERS * planted.BATCH * planted.LENGTH * planted.WIDTH * 4
    of_loss = 2 * planted.BATCH * planted.LENGTH * planted.LABELS * 4  # scores and their log_softmax
    assert use.backward_bytes == pytest.approx(inputs + of_loss, rel=0.05)  # states of random numbers too
    assert whole.backward_bytes is not None
    assert use.backward_bytes is not None
    assert use.backward_bytes < whole.backward_bytes / 4


def test_sums_of_each_table_agree(recorded: Recorded) -> None:
    _, use = recorded("transformer")
    for table in (use.lines, use.modules, use.phases, use.operators):
        assert int(table.allocated_bytes.sum()) == use.allocated_bytes
        assert int(table.peak_bytes.sum()) == use.peak_bytes
        assert int(table.held_bytes.sum()) == use.held_bytes
        assert int(table.allocations.sum()) == use.allocations
        assert int(table.freed_bytes.sum()) == use.allocated_bytes - use.held_bytes
    assert int(use.calls.allocated_bytes.sum()) == use.allocated_bytes
    of_peak = use.timeline.take(use.timeline.time_ns == use.peak_ns)
    assert int(of_peak.held_bytes.sum()) == use.peak_bytes


def profiled(path: Path | None) -> dict[str, tuple[int, int, int]]:
    """Calls and bytes of operators by the program's own profiler. path: also recorded by perfprobe."""

    def run() -> dict[str, tuple[int, int, int]]:
        with torch.profiler.profile(profile_memory=True, acc_events=True) as profiler:
            planted.train("transformer")
        return {
            each.key: (each.count, each.cpu_memory_usage, each.self_cpu_memory_usage)
            for each in profiler.key_averages()
            if each.key != "[memory]"
        }

    torch.manual_seed(0)
    if path is None:
        return run()
    with perfprobe.profile(path, python="off", memory=True):
        return run()


def test_the_programs_own_profiler_sees_the_same_memory(tmp_path: Path) -> None:
    one_thread()
    planted.train("transformer")
    assert profiled(tmp_path / "run.perfprobe") == profiled(None)
