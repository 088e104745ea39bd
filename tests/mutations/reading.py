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
from perfprobe.bench.ceilings import cache
from perfprobe.results import Results
from perfprobe.support.errors import PerfprobeError
from perfprobe.support.graph_view import WEIGHTS, GraphView
from perfprobe.support.view import GROUPS, View
from perfprobe.tables import child_sums, measured_file, storage
from tests.mutations import files
from tests.report.test_text import training

HANG_S = 20
TOO_LONG = f"more than {HANG_S} s"
KINDS = (
    *("operators", "python", "gpu", "children", "measurements", "pstats", "trace", "trace.gz", "exported"),
    "ceilings",
)
_PROCESS = 4711
PAGES = 0.25  # part of the files of which a page is made: it draws the call graph too
FORMATS = ("pstats", "speedscope", "collapsed")


class Damaged(NamedTuple):
    """The file that is damaged, what it contains otherwise, and how to damage it."""

    path: Path
    whole: bytes
    harmed: Callable[[random.Random, bytes], bytes]


class Fault(NamedTuple):
    """What went wrong, and the seed that reproduces it."""

    command: str
    seed: int
    what: str


def read_all(kind: str, seeds: Iterable[int], recordings: Path, folder: Path) -> list[Fault]:
    """Damages a file of this kind once for each seed and reads it with every command."""
    given = _made(kind, recordings, folder)
    faults = []
    for seed in seeds:
        rng = random.Random(seed)
        given.path.write_bytes(given.harmed(rng, given.whole))
        faults += list(_read(given.path, seed, rng, folder))
    return faults


def _made(kind: str, recordings: Path, folder: Path) -> Damaged:
    """The file to damage. The commands read `file.perfprobe`, which may be another one."""
    path = folder / "file.perfprobe"
    if kind == "pstats":
        return Damaged(path, files.profile(path), files.harmed_bytes)
    if kind == "measurements":
        path.write_bytes(files.recordings(recordings)["operators"])
        beside = Path(measured_file.beside(str(path)))
        whole = files.measurements(beside, measured_file.identity(storage.read(path)))
        return Damaged(beside, whole, files.harmed_json)
    if kind == "children":
        return _sums(path)
    if kind in ("trace", "trace.gz", "exported"):
        path.write_bytes(files.recordings(recordings)["gpu"])
        trace = files.exported(path)
        whole = trace if kind == "exported" else files.foreign(trace)
        return Damaged(path, whole, files.harmed_gzip if kind == "trace.gz" else files.harmed_json)
    if kind == "ceilings":
        beside = folder / "ceilings.json"
        return Damaged(beside, files.ceilings(beside), files.harmed_json)
    return Damaged(path, files.recordings(recordings)[kind], files.harmed_recording)


def _sums(path: Path) -> Damaged:
    """The sheet of the children of a recorded process, and a recording of one of them."""
    facts = {"program": {"pid": _PROCESS}, "children": {"folder": "children", "spawned": 4}}
    path.write_bytes(training(**facts).encode(2))
    beside = path.parent / "children"
    beside.mkdir()
    own = {"program": {"pid": 100, "parent_pid": _PROCESS}, "children": {"folder": "."}}
    (beside / "100.perfprobe").write_bytes(training(**own).encode(2))
    sheet = beside / child_sums.FILE
    return Damaged(sheet, files.sums(sheet, _PROCESS), files.harmed_sums)


def _read(damaged: Path, seed: int, rng: random.Random, folder: Path) -> Iterator[Fault]:
    path = str(folder / "file.perfprobe")
    commands = _commands(path, rng, folder)
    if damaged.name == "ceilings.json":
        commands = {"machine": lambda: cache.read(str(damaged), "key")}
    for name, command in commands.items():
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
    page = {"report --html": lambda: sum(map(len, Results(path).page(View())))}
    return {
        "report": lambda: Results(path).text(view, width=rng.choice((80, 200))),
        "report --json": lambda: json.dumps(Results(path).document(View()), allow_nan=False),
        f"graph --by {by}": lambda: Results(path).draw(dot, GraphView(by=by)),
        f"export --format {form}": lambda: Results(path).export(form, None),
        "bench": lambda: measuring.of_recording(path, top=5, focus=None, threads=None),
        **(page if rng.random() < PAGES else {}),
    }


@contextmanager
def in_time() -> Iterator[None]:
    """Raises TimeoutError if the body takes more CPU time than HANG_S."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(TOO_LONG)

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
