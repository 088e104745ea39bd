"""Finds by their names which files of a folder belong to which recording, and which recordings to one job."""

from __future__ import annotations

import calendar
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from perfprobe.tables import storage
from perfprobe.tables.measured_file import ENDING
from perfprobe.tables.storage import SUFFIX

# What follows the recording's name, without its suffix: of a further file of `--rotate`, of the folder of its
# children, and of what `perfprobe bench`, `graph` and `export` write by default.
_FURTHER = re.compile(r"\.([2-9]|[1-9]\d{1,5})")
_CHILDREN = re.compile(r"-children(-\d{1,3})?")
_BESIDE = re.compile(
    rf"{re.escape(ENDING)}"
    r"|\.callgraph\.(png|svg|pdf|dot)"
    r"|(-\d{1,3})?\.(pstats|speedscope\.json|collapsed|pb\.gz|pt\.trace\.json\.gz)"
)

# A rank's recording: with its default name, which has the time of its start, or beside one that `-o` named.
_RANK = re.compile(r"(?P<program>.*)-(?P<begun>\d{8}-\d{6})-.*-rank(?P<rank>\d+)-\d+(-\d+)?", re.DOTALL)
_NAMED_RANK = re.compile(r"(?P<program>.*)-rank(?P<rank>\d+)", re.DOTALL)
_NO_RANK = -1
_APART_S = 60  # ranks of one job start within this time, on hosts whose clocks differ


class Belongings(NamedTuple):
    """A recording's name, and the names of what perfprobe wrote beside it.

    further: files of `--rotate`. files: measurements, pictures and exports. folders: of its children.
    """

    name: str
    further: list[str]
    files: list[str]
    folders: list[str]


def belongings(names: Iterable[str], rotates: Callable[[str], bool]) -> Iterator[Belongings]:
    """Yields each recording among these names, which are of one folder, with what belongs to it.

    rotates: whether the recording of this name was made with `--rotate`: else `run.2.perfprobe` is its own.
    """
    known = sorted(names)
    stems = {name.removesuffix(SUFFIX) for name in known if name.endswith(SUFFIX)} - {""}
    first: dict[str, str] = {}
    for stem in sorted(stems, key=lambda stem: (len(stem), stem)):
        of = _owner(stem, stems, _FURTHER)
        if of is not None and of not in first and rotates(f"{of}{SUFFIX}"):
            first[stem] = of
    found = {stem: Belongings(f"{stem}{SUFFIX}", [], [], []) for stem in sorted(stems - first.keys())}
    for stem, of in first.items():
        found[of].further.append(f"{stem}{SUFFIX}")
    for name in known:
        of_file, of_folder = _owner(name, stems, _BESIDE), _owner(name, stems, _CHILDREN)
        if of_file is not None:
            found[first.get(of_file, of_file)].files.append(name)
        elif of_folder is not None:
            found[first.get(of_folder, of_folder)].folders.append(name)
    return iter(found.values())


def jobs(found: Iterable[Belongings]) -> list[list[Belongings]]:
    """Returns the recordings with the ranks of a job together; each other one is alone."""
    made: list[dict[int, Belongings]] = []
    last: dict[
        str, tuple[int, dict[int, Belongings]]
    ] = {}  # of each program: when its last job began, its ranks
    for begun_s, program, rank, one in sorted((*_start(one), one) for one in found):
        since_s, ranks = last.get(program, (begun_s, {}))
        if rank == _NO_RANK or not ranks or rank in ranks or begun_s - since_s > _APART_S:
            made.append(ranks := {})
            if rank != _NO_RANK:
                last[program] = begun_s, ranks
        ranks[rank] = one
    return [list(ranks.values()) for ranks in made]


def _start(one: Belongings) -> tuple[int, str, int]:
    """When it began, its program, and its rank."""
    stem = one.name.removesuffix(SUFFIX)
    match = _RANK.fullmatch(stem) or _NAMED_RANK.fullmatch(stem)
    if match is None:
        return 0, stem, _NO_RANK
    begun_s, date = 0, match.groupdict().get("begun")
    try:
        begun_s = calendar.timegm(time.strptime(date, "%Y%m%d-%H%M%S")) if date else 0
    except ValueError:
        return 0, stem, _NO_RANK
    return begun_s, match["program"], int(match["rank"])


def rotates(folder: str, name: str) -> bool:
    """Whether this recording in the folder was made with `--rotate`."""
    options = storage.facts(os.path.join(folder, name)).get("recording")
    return isinstance(options, dict) and bool(options.get("rotate"))


def _owner(name: str, stems: set[str], rest: re.Pattern[str]) -> str | None:
    """Returns the longest stem that such a rest follows in the name; None if there is none."""
    ends = (end for end in range(len(name) - 1, 0, -1) if name[:end] in stems and rest.fullmatch(name, end))
    end = next(ends, None)
    return None if end is None else name[:end]
