"""Time as collapsed stacks, `main (a.py:1);step (a.py:9);aten::mm f32[2,2] 1234`, in microseconds.

The format of https://github.com/brendangregg/FlameGraph, which inferno and speedscope read too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfprobe.report.export.exported import Exported, pieces
from perfprobe.report.export.flames import Flames, Frame, Paths, Steps
from perfprobe.report.shorten import file_names
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure

KINDS = (CallStructure,)


def exported(findings: Findings, chosen: str | None = None) -> Exported:
    """The lines, and notes about them. `chosen` is ignored: the findings have the time that was asked for.

    Raises:
        InputError: there are no stacks with times.
    """
    flames = Flames(findings)
    paths = flames.paths()
    steps = flames.sum_up()
    short = file_names([frame.file for frame in flames.frames if frame.file is not None])
    names = [_text(frame, short) for frame in flames.frames]
    threads = {thread: _safe(flames.thread(thread)) for thread in steps.thread.tolist()}
    lines, without_ns = _lines(paths, steps, names, threads)
    return Exported(
        pieces(f"{_key(paths[line.row], names, line.thread)} {line.time_ns // 1000}\n" for line in lines),
        flames.notes(without_ns),
    )


@dataclass
class _Line:
    """The time of one line of text. thread: its name if there are several. row: the first with this path."""

    thread: str | None
    row: int
    time_ns: int = 0


def _lines(
    paths: Paths, steps: Steps, names: Sequence[str], threads: Mapping[int, str]
) -> tuple[list[_Line], int]:
    """The lines with at least a microsecond, and the time without a path. Equal texts are one line."""
    texts = {name: at for at, name in enumerate(dict.fromkeys(names))}
    text_of = [texts[name] for name in names]
    tree: dict[tuple[int, int], int] = {}  # (number of the parent, text) -> number of the child
    lines: dict[tuple[str | None, int], _Line] = {}
    without_ns = 0
    for thread, row, time_ns in zip(*(column.tolist() for column in steps), strict=True):
        node = -1
        for frame in paths[row]:
            node = tree.setdefault((node, text_of[frame]), len(tree))
        if node < 0:
            without_ns += time_ns
            continue
        name = threads[thread] if len(threads) > 1 else None
        lines.setdefault((name, node), _Line(name, row)).time_ns += time_ns
    return [line for line in lines.values() if line.time_ns >= 1000], without_ns


def _key(path: Sequence[int], names: Sequence[str], thread: str | None) -> str:
    words = [names[frame] for frame in path]
    return ";".join(words if thread is None else [thread, *words])


def _text(frame: Frame, short: dict[str, str]) -> str:
    if frame.file is None:
        return _safe(frame.name)
    return _safe(f"{frame.name} ({short[frame.file]}:{frame.line})")


def _safe(text: str) -> str:
    return printable(text.replace(";", ":"))
