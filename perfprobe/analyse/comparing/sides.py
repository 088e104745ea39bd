"""One version of a program: its runs, with the parts of their steps by texts."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from perfprobe.analyse.beside import Recorded
from perfprobe.models.compared import Part
from perfprobe.tables.account import LeafKind
from perfprobe.tables.cells import CELL
from perfprobe.tables.findings import Findings
from perfprobe.tables.recording import Recording
from perfprobe.tables.run_parts import RunParts, StepParts
from perfprobe.tables.run_value import RunValue
from perfprobe.tables.stacks import Frames
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)|^\d+(?=\.|$)")
_PACKAGES = ("/site-packages/", "/dist-packages/")


class Amount(NamedTuple):
    """Of a step: time and calls."""

    time_ns: float
    calls: float


class RunSide(NamedTuple):
    """One run. parts: None if it has no rows."""

    run: Recorded
    found: Findings
    value: RunValue | None
    of_steps: RunParts | None
    parts: Mapping[Part, Amount] | None


class Side(NamedTuple):
    """One version.

    name: as users know it. runs: whose steps are compared. recorded: whose rows are: the same, or others.
    """

    name: str
    runs: Sequence[RunSide]
    recorded: Sequence[RunSide]


def run_side(run: Recorded, kinds: Sequence[type]) -> RunSide:
    """Reads a run. Raises InputError if that is not possible."""
    found = run.find(kinds)
    value, of_steps = found.get(RunValue), found.get(RunParts)
    parts = None if of_steps is None else parts_of(found.trace, of_steps)
    return RunSide(run, found, value, of_steps, parts)


def parts_of(trace: Trace, of_steps: RunParts) -> dict[Part, Amount]:
    """The parts of a step by texts."""
    sums: dict[Part, list[float]] = defaultdict(lambda: [0.0, 0.0])
    texts = _Texts(trace)
    rows = of_steps.parts
    columns = (getattr(rows, name).tolist() for name in StepParts.dtypes)
    for *key, calls, time_ns in zip(*columns, strict=True):
        found = sums[texts.part(*key)]
        found[0] += time_ns
        found[1] += calls
    steps = max(of_steps.steps, 1)
    return {part: Amount(time_ns / steps, calls / steps) for part, (time_ns, calls) in sums.items()}


class _Texts:
    """Makes parts of a recording's ids."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._strings, self._frames = trace.recording[Strings], trace.recording[Frames]
        self._root = _Root(trace.recording)
        self._modules: dict[int, str] = {}

    def part(self, *key: int) -> Part:
        """key: the columns of `StepParts` without figures."""
        kind, phase, frame, module, name, overload, signature = key
        operator = ".".join(filter(None, (self._strings[name], self._strings[overload])))
        text = self._trace.signature(signature) or ""
        place = self._place(frame) if frame >= 0 else {}
        return Part(
            LeafKind(kind),
            StepPhase(phase),
            operator=operator,
            signature=text,
            module=self._module(module),
            **place,
        )

    def _place(self, frame: int) -> dict[str, Any]:
        frames = self._frames
        line = int(frames.line[frame])
        return {
            "path": self._root.path(self._strings[frames.file[frame]]),
            "function": self._strings[frames.function[frame]],
            "line": line,
            "offset": line - int(frames.first_line[frame]),
            "text_hash": int(frames.text_hash[frame]),
        }

    def _module(self, module: int) -> str:
        if module not in self._modules:
            self._modules[module] = _NUMBER.sub("*", self._trace.module(module) or "")
        return self._modules[module]


class _Root:
    """Paths of files from the project's root."""

    def __init__(self, recording: Recording) -> None:
        self._cwd = recording.text("program", "cwd") or ""
        script = recording.text("roots", "script") or ""
        folder = posixpath.dirname(script) if script.endswith(".py") else script
        self._roots = [
            root for root in (self._cwd, posixpath.join(self._cwd, folder)) if root.startswith("/")
        ]
        self._known: dict[str, str] = {}

    def path(self, file: str) -> str:
        """The path of a file of the program below its root; of a library from the folder of packages."""
        if file not in self._known:
            self._known[file] = file if file.startswith(("<", CELL)) else self._path(file)
        return self._known[file]

    def _path(self, file: str) -> str:
        whole = posixpath.normpath(posixpath.join(self._cwd, file))
        for part in _PACKAGES:
            if part in whole:
                return whole[whole.rfind(part) + len(part) :]
        for root in self._roots:
            if whole.startswith(f"{root.rstrip('/')}/"):
                return posixpath.relpath(whole, root)
        return whole
