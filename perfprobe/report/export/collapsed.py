"""Sampled time as collapsed stacks, `main (a.py:1);step (a.py:9);aten::mm f32[2,2] 1234`, in microseconds.

The format of https://github.com/brendangregg/FlameGraph, which inferno and speedscope read too.
"""

from __future__ import annotations

from perfprobe.report.export.exported import Exported
from perfprobe.report.export.flames import Flames, Frame
from perfprobe.report.shorten import file_names
from perfprobe.support.text import printable
from perfprobe.support.units import duration
from perfprobe.tables.findings import Findings


def exported(findings: Findings, times: str | None = None) -> Exported:
    """The lines, and what to know of them; `times` is for other formats.

    Raises:
        InputError: there are no stacks with times.
    """
    flames = Flames(findings)
    paths = flames.paths()
    steps = flames.summed()
    short = file_names([frame.file for frame in flames.frames if frame.file is not None])
    names = [_text(frame, short) for frame in flames.frames]
    threads = {thread: _safe(flames.thread(thread)) for thread in steps.thread}
    sums_ns: dict[str, int] = {}
    without_ns = 0
    for thread, row, time_ns in zip(*steps, strict=True):
        words = [names[frame] for frame in paths[row]]
        if words:
            key = ";".join([threads[thread], *words] if len(threads) > 1 else words)
            sums_ns[key] = sums_ns.get(key, 0) + time_ns
        else:
            without_ns += time_ns
    lines = [f"{key} {time_ns // 1000}\n" for key, time_ns in sums_ns.items() if time_ns >= 1000]
    left_out = [f"left out: {duration(without_ns)} in which threads ran no Python and no operator"]
    return Exported("".join(lines).encode("utf-8", "replace"), flames.notes() + left_out * (without_ns > 0))


def _text(frame: Frame, short: dict[str, str]) -> str:
    if frame.file is None:
        return _safe(frame.name)
    return _safe(f"{frame.name} ({short[frame.file]}:{frame.line})")


def _safe(text: str) -> str:
    return printable(text.replace(";", ":"))
