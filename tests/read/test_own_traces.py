"""Traces that perfprobe exported, read back: the recordings that they were made from."""

from __future__ import annotations

import builtins
import contextlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.models.chrome import EVENTS, HELD
from perfprobe.read import kineto
from perfprobe.read.kineto import chunks
from perfprobe.results import Results
from perfprobe.support.errors import PerfprobeError
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.definitions import IN_MEMORY
from perfprobe.tables.events import Losses
from perfprobe.tables.memory import MemoryRows
from perfprobe.tables.steps import StepTimes
from tests.analyse.test_gpu_traces import DIFFERENT, folder
from tests.report.traced import LOST, differences, traced, write


@pytest.mark.parametrize("without_msgspec", [False, True])
def test_all_tables_are_the_same(
    without_msgspec: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write(traced(), tmp_path)
    original = storage.read(str(trace.with_suffix(".perfprobe")))
    if without_msgspec:
        imported = builtins.__import__

        def refuse(name: str, *rest: Any, **named: Any) -> Any:
            if name == "msgspec":
                raise ImportError(name)
            return imported(name, *rest, **named)

        monkeypatch.setattr(builtins, "__import__", refuse)
    for size_bytes in (1 << 22, 700):
        monkeypatch.setattr(chunks, "PART_BYTES", size_bytes)
        found = kineto.read(trace)
        assert differences(original, found) == []
        assert (found.meta, found.complete, found.last_ns) == (original.meta, True, original.last_ns)


def test_every_table_is_in_it_or_named_as_missing(tmp_path: Path) -> None:
    held = {kind.table_name for kind in (*EVENTS, *HELD)}
    every = {kind.table_name for kind in IN_MEMORY} | {MemoryRows.table_name}
    assert every - held == LOST
    reasons = kineto.read(write(traced(), tmp_path))[Losses].reason.tolist()
    assert any("activity of threads" in reason for reason in reasons)


def test_steps_are_the_same(tmp_path: Path) -> None:
    trace = write(traced(), tmp_path)
    found = [Results(str(path)).findings(View(), (StepTimes,))[StepTimes] for path in _both(trace)]
    for name in ("loops", "steps", "events", "step_phases", "phases"):
        columns = [getattr(times, name).columns() for times in found]
        assert all(np.array_equal(columns[0][key], columns[1][key]) for key in columns[0]), name
    assert len(found[0].steps) == 3


def _both(trace: Path) -> tuple[Path, Path]:
    return trace.with_suffix(".perfprobe"), trace


def test_damage(tmp_path: Path) -> None:
    """A report or one line, whatever was changed in the file."""
    whole, rng = write(traced(), tmp_path).read_bytes(), random.Random(7)
    path = tmp_path / "damaged.json"
    said: set[str] = set()
    for _ in range(70):
        harmed = bytearray(whole)
        for _ in range(rng.choice([1, 3, 20])):
            at = rng.randrange(len(harmed))
            harmed[at : at + rng.choice([0, 1, 4])] = rng.choice(
                [b"", b"0", b'"', b"9" * 20, b"-", b"]", b"null"]
            )
        path.write_bytes(bytes(harmed[: rng.choice([len(harmed), rng.randrange(len(harmed))])]))
        with contextlib.suppress(PerfprobeError):
            said.add(Results(str(path)).text(View(full=True))[:20])
    assert said


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ((b'"format":1', b'"format":2'), "another version"),
        ((b'"strings":{"text":["', b'"strings":{"text":7,"x":["'), None),
        ((b'"os_thread":[', b'"os_thread":[[1],'), "table threads is damaged"),
    ],
)
def test_what_is_not_ours(change: tuple[bytes, bytes], fault: str | None, tmp_path: Path) -> None:
    trace = write(traced(), tmp_path)
    trace.write_bytes(trace.read_bytes().replace(*change, 1))
    if fault is None:
        assert len(kineto.read(trace)[Losses])
        return
    with pytest.raises(PerfprobeError, match=fault):
        kineto.read(trace)


@pytest.mark.parametrize("name", DIFFERENT)
def test_real_traces_through_both(name: str, tmp_path: Path) -> None:
    original = folder() / f"{name}.json.gz"
    if not original.is_file():
        pytest.skip(f"no {original.name} in PERFPROBE_TRACES")
    trace = tmp_path / "again.json"
    trace.write_bytes(b"".join(Results(str(original)).export("chrome", None).parts))
    assert differences(kineto.read(original), kineto.read(trace)) == []
