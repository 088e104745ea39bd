"""Runs a program with known work, recorded or alone, and returns the recording and the truth."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.columns import Table
from perfprobe.tables.events import Losses
from perfprobe.tables.gpu import GPU_EVENTS, ApiCalls, Kernels
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.gpu import process
from tests.gpu.child import Room, expect

PROGRAMS = Path(__file__).with_name("programs.py")
LOADS = Path(__file__).with_name("loads.py")
LIMIT_S = 55.0

Rows = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Seen:
    """A recording, the truth about the program, and the output of both."""

    recording: Recording
    truth: dict[str, Any]
    output: str = ""

    def kernels(self, name: str) -> Rows:
        """The kernels whose name has this beginning, by start time."""
        return self.named(Kernels, name)

    def calls(self, name: str) -> Rows:
        """The calls of the CUDA API whose name has this beginning."""
        return self.named(ApiCalls, name)

    def named(self, table: type[Table], name: str) -> Rows:
        """Rows of a table by name and start time. `row` is their place in the table."""
        rows = columns(self.recording[table])
        fits = [self.recording[Strings][at].startswith(name) if at >= 0 else False for at in rows["name"]]
        chosen = np.flatnonzero(np.array(fits, dtype=bool))
        chosen = chosen[np.argsort(rows["start_ns"][chosen], kind="stable")]
        return {**{column: values[chosen] for column, values in rows.items()}, "row": chosen}

    def trace(self) -> Trace:
        """The recording, linked."""
        return link(self.recording)

    def losses(self) -> list[str]:
        """The recording's GPU losses."""
        losses = self.recording[Losses]
        rows = zip(losses.source, losses.reason, losses.count, strict=True)
        return [f"{reason} x{count}" for source, reason, count in rows if source == "gpu"]


def columns(table: Table) -> Rows:
    """A table's columns by name."""
    return {name: np.asarray(getattr(table, name)) for name in type(table).dtypes}


def source(name: str) -> Path:
    """The file of the program with this name."""
    return LOADS if f"\ndef {name}(" in LOADS.read_text(encoding="utf-8") else PROGRAMS


def alone(
    room: Room,
    name: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
) -> Any:
    """Runs the program without perfprobe; returns the truth."""
    truth = room.folder / f"{name}.json"
    words = [sys.executable, "-u", source(name), name, truth, *arguments]
    ended = process.run(words, limit_s, room.folder, environment)
    print(ended.output, flush=True)
    expect(ended.status == 0, f"{name} {ended.how()}: {ended.last_line()}")
    return json.loads(truth.read_text(encoding="utf-8"))


def record(
    room: Room,
    name: str,
    *options: str,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
    limit_s: float = LIMIT_S,
) -> Seen:
    """Runs the program under `python -m perfprobe --gpu cupti`. options: further options of perfprobe."""
    path, truth = room.folder / f"{name}.perfprobe", room.folder / f"{name}.json"
    path.unlink(missing_ok=True)  # a check may record a program twice
    words = [sys.executable, "-u", "-m", "perfprobe", "--gpu", "cupti", "-o", path, *options]
    ended = process.run([*words, source(name), name, truth, *arguments], limit_s, room.folder, environment)
    print(ended.output, flush=True)
    expect(ended.status == 0, f"{name} {ended.how()}: {ended.last_line()}")
    expect(path.exists(), f"{name}: nothing was recorded: {ended.last_line()}")
    return read(room, path, json.loads(truth.read_text(encoding="utf-8")), ended.output)


def read(room: Room, path: Path, truth: dict[str, Any], output: str = "") -> Seen:
    """Reads a recording. Its GPU facts and losses become evidence."""
    seen = Seen(storage.read(path), truth, output)
    counts = {kind.table_name: len(seen.recording[kind]) for kind in GPU_EVENTS}
    room.note(recorded=counts, losses=seen.losses(), session=seen.recording.fact("gpu"))
    return seen


def spread_ns(values: npt.NDArray[Any]) -> str:
    """Minimum, median and maximum."""
    if not len(values):
        return "none"
    return f"{values.min():.0f} / {np.median(values):.0f} / {values.max():.0f} ns"
