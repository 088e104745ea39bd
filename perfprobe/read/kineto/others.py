"""Files that look like a trace, and are of another tool: what they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

REMEDY = "perfprobe reads traces of torch.profiler: prof.export_chrome_trace(FILE)"
_TIMELINE = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\[")
# Entries of the file, and categories of events, that only one tool writes.
_ENTRIES = {
    "viztracer_metadata": "VizTracer",
    "metadata": "Chrome DevTools",
}
_CATEGORIES = {
    "FEE": "VizTracer",
    "devtools.timeline": "Chrome DevTools",
    "disabled-by-default-devtools.timeline": "Chrome DevTools",
    "blink.user_timing": "Chrome DevTools",
    "__metadata": "Chrome DevTools",
    "v8": "Chrome DevTools",
    "cuda_api": "nsys2json",
    "nvtx-kernel": "nsys2json",
}
# How files begin that have no list of events.
_BEGINNINGS = (
    (re.compile(rb'\s*\{\s*"Type"\s*:'), "an export of Nsight Systems"),
    (re.compile(rb'\s*\{\s*"schema"\s*:\s*"[\d.a-z-]*",\s*"pid"'), "an execution trace of PyTorch"),
)
_BEGINNING_BYTES = 4096


def what_it_is(about: Mapping[str, Any], categories: Iterable[str]) -> str:
    """`, of VizTracer` for the entries of a file and the categories of its events; "" if nothing shows it."""
    makers = [_CATEGORIES[each] for each in categories if each in _CATEGORIES]
    makers += [maker for entry, maker in _ENTRIES.items() if entry in about]
    return f", a file of {makers[0]}" if makers else ""


def kind_of(head: bytes) -> str | None:
    """What a file is that begins so and has no list of events; None if that is not known."""
    if _TIMELINE.match(head) is not None:
        return "a memory timeline of torch.profiler"
    head = head[:_BEGINNING_BYTES]
    return next((kind for begins, kind in _BEGINNINGS if begins.match(head) is not None), None)
