"""Computes findings of a trace, for tests."""

from __future__ import annotations

from typing import Any

from perfprobe.analyse.analysis import Analysis, read
from perfprobe.analyse.findings import Asked, Watcher
from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.trace import Trace


def find(trace: Trace, *kinds: type | str, **asked: Any) -> Findings:
    """These findings, as far as they exist. asked: fields of `Asked`."""
    return diagnosed(Analysis(trace).find(kinds, Asked(**asked)))


def hotspots(trace: Trace, **asked: Any) -> Hotspots:
    """The hotspot tables."""
    return find(trace, Hotspots, **asked)[Hotspots]


def watched(trace: Trace, *watchers: Watcher) -> None:
    """Passes all operators of the trace to the watchers."""
    read(trace, watchers)
