"""Runs a program of known work, recorded or alone, and brings back what was recorded and what is known."""

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
    """A recording, what is known of the program, and what both printed."""

    recording: Recording
    truth: dict[str, Any]
    output: str = ""

    def kernels(self, name: str) -> Rows:
        """The kernels whose name begins so, in the order they started."""
        return self.named(Kernels, name)

    def calls(self, name: str) -> Rows:
        """The calls of the CUDA API whose name begins so."""
        return self.named(ApiCalls, name)

    def named(self, table: type[Table], name: str) -> Rows:
        """Rows of a table by name, in the order they started; `row` is where they lie."""
        rows = columns(self.recording[table])
        fits = [self.recording[Strings][at].startswith(name) if at >= 0 else False for at in rows["name"]]
        chosen = np.flatnonzero(np.array(fits, dtype=bool))
        chosen = chosen[np.argsort(rows["start_ns"][chosen], kind="stable")]
        return {**{column: values[chosen] for column, values in rows.items()}, "row": chosen}

    def trace(self) -> Trace:
        """The recording, linked."""
        return link(self.recording)

    def losses(self) -> list[str]:
        """What the recording says it lost of GPUs."""
        losses = self.recording[Losses]
        rows = zip(losses.source, losses.reason, losses.count, strict=True)
        return [f"{reason} x{count}" for source, reason, count in rows if source == "gpu"]


def columns(table: Table) -> Rows:
    """A table's columns by name."""
    return {name: np.asarray(getattr(table, name)) for name in type(table).dtypes}


def source(name: str) -> Path:
    """The file of the program of that name."""
    return LOADS if f"\ndef {name}(" in LOADS.read_text(encoding="utf-8") else PROGRAMS


def alone(
    room: Room,
    name: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
) -> Any:
    """Run the program without perfprobe: what is known of it."""
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
    """Run the program under `python -m perfprobe --gpu cupti`; options: more of perfprobe's."""
    path, truth = room.folder / f"{name}.perfprobe", room.folder / f"{name}.json"
    words = [sys.executable, "-u", "-m", "perfprobe", "--gpu", "cupti", "-o", path, *options]
    ended = process.run([*words, source(name), name, truth, *arguments], limit_s, room.folder, environment)
    print(ended.output, flush=True)
    expect(ended.status == 0, f"{name} {ended.how()}: {ended.last_line()}")
    expect(path.exists(), f"{name}: nothing was recorded: {ended.last_line()}")
    return read(room, path, json.loads(truth.read_text(encoding="utf-8")), ended.output)


def read(room: Room, path: Path, truth: dict[str, Any], output: str = "") -> Seen:
    """A recording; what it says of the GPU and of losses becomes evidence."""
    seen = Seen(storage.read(path), truth, output)
    counts = {kind.table_name: len(seen.recording[kind]) for kind in GPU_EVENTS}
    room.note(recorded=counts, losses=seen.losses(), session=seen.recording.fact("gpu"))
    return seen


def spread_ns(values: npt.NDArray[Any]) -> str:
    """Least, median and most."""
    if not len(values):
        return "none"
    return f"{values.min():.0f} / {np.median(values):.0f} / {values.max():.0f} ns"
