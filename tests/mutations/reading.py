"""Reads damaged files with every command that reads files."""

from __future__ import annotations

import json
import random
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from perfprobe import measuring
from perfprobe.results import Results
from perfprobe.support.errors import PerfprobeError
from perfprobe.support.graph_view import WEIGHTS, GraphView
from perfprobe.support.view import GROUPS, View
from perfprobe.tables import measured_file, storage
from tests.mutations import files

HANG_S = 20
FORMATS = ("pstats", "speedscope", "collapsed")


class Fault(NamedTuple):
    """What went wrong, and the seed that reproduces it."""

    command: str
    seed: int
    what: str


def read_all(kind: str, seeds: Iterable[int], recordings: Path, folder: Path) -> list[Fault]:
    """Damages a file of this kind once for each seed and reads it with every command."""
    path, whole = _made(kind, recordings, folder)
    faults = []
    for seed in seeds:
        rng = random.Random(seed)
        path.write_bytes(files.harmed(rng, whole, is_recording=kind not in ("pstats", "measurements")))
        faults += list(_read(str(folder / "file.perfprobe"), seed, rng, folder))
    return faults


def _made(kind: str, recordings: Path, folder: Path) -> tuple[Path, bytes]:
    """The file to damage and its contents. The commands read `file.perfprobe`."""
    path = folder / "file.perfprobe"
    if kind == "pstats":
        return path, files.profile(path)
    if kind == "measurements":
        path.write_bytes(files.recordings(recordings)["operators"])
        beside = Path(measured_file.beside(str(path)))
        return beside, files.measurements(beside, measured_file.identity(storage.read(path)))
    return path, files.recordings(recordings)[kind]


def _read(path: str, seed: int, rng: random.Random, folder: Path) -> Iterator[Fault]:
    for name, command in _commands(path, rng, folder).items():
        try:
            with in_time():
                command()
        except PerfprobeError as error:
            if "\n" in str(error):
                yield Fault(name, seed, f"more than one line: {error}")
        except (Exception, MemoryError):
            yield Fault(name, seed, " | ".join(traceback.format_exc().splitlines()[-3:]))


def _commands(path: str, rng: random.Random, folder: Path) -> dict[str, Callable[[], object]]:
    view = View(group=rng.choice(GROUPS), columns=rng.choice(("short", "autograd", "all")))
    by, form = rng.choice(WEIGHTS), rng.choice(FORMATS)
    dot = str(folder / "graph.dot")
    return {
        "report": lambda: Results(path).text(view, width=rng.choice((80, 200))),
        "report --json": lambda: json.dumps(Results(path).document(View()), allow_nan=False),
        f"graph --by {by}": lambda: Results(path).draw(dot, GraphView(by=by)),
        f"export --format {form}": lambda: Results(path).export(form, None),
        "bench": lambda: measuring.of_recording(path, top=5, focus=None, threads=None),
    }


@contextmanager
def in_time() -> Iterator[None]:
    """Raises TimeoutError if the body takes more CPU time than HANG_S."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {HANG_S} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
