"""GPU: work on devices that no figure contains, because it was not recorded or is not read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.models.device_calls import is_launch
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import ApiCalls, Kernels
from perfprobe.tables.strings import Strings


def unread_lines(findings: Findings, label: str) -> Iterator[ScreenRow]:
    """Work of devices that are not read, and launches of which no kernel was recorded."""
    found = findings.trace.recording.fact("trace", "unread")
    for device, count in (found if isinstance(found, dict) else {}).items():
        text = f"{count:,} events of {printable(device)} are not read"
        yield said(label, text, ": shares are of the host's time", style="yellow")
        label = ""
    launches = _without_kernels(findings)
    if launches:
        text = f"{launches:,} launches, and no kernel was recorded"
        yield said(label, text, ": what it did, and when, is not known", style="yellow")


def _without_kernels(findings: Findings) -> int:
    """How many launches of kernels there were, if none of the kernels was recorded."""
    recording = findings.trace.recording
    if len(recording[Kernels]):
        return 0
    names, count = np.unique(recording[ApiCalls].name, return_counts=True)
    strings = recording[Strings]
    return sum(
        each for name, each in zip(names.tolist(), count.tolist(), strict=True) if is_launch(strings[name])
    )
