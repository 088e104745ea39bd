"""What torch.compile compiled while the program ran, and why again: dynamo's own list.

Dynamo keeps the last 64 compilations (torch/_dynamo/utils.py, `get_compilation_metrics`).
"""

from __future__ import annotations

import sys
from time import time

from perfprobe.collect.base import Collector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from perfprobe.collect.base import Facts

_DYNAMO = "torch._dynamo.utils"
_LONGEST_REASON = 200


class CompilationCollector(Collector):
    """Writes the compilations since it was started, when it is stopped."""

    name = "compilations"

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._started_s = 0.0

    def start(self) -> None:
        """Notes the time."""
        self._started_s = time()

    def stop(self) -> None:
        """Writes the meta value `compilations`, if dynamo compiled anything."""
        listed = getattr(sys.modules.get(_DYNAMO), "get_compilation_metrics", None)
        if listed is None:
            return
        metrics = listed()
        calls = [*_calls(metrics, self._started_s)]
        if calls:
            limit = getattr(sys.modules[_DYNAMO], "DEFAULT_COMPILATION_METRICS_LIMIT", 0)
            self._facts.meta("compilations", {"calls": calls, "more": len(metrics) == limit})


def _calls(metrics: Iterable[Any], since_s: float) -> Iterable[dict[str, object]]:
    """Yields the compilations of the program's functions. Those of backward belong to a forward one."""
    for each in metrics:
        begun_s = getattr(each, "start_time", None)
        time_s = getattr(each, "entire_frame_compile_time_s", None)
        if each.co_name is None or begun_s is None or begun_s < since_s:
            continue
        reason = getattr(each, "recompile_reason", None) or ""
        yield {
            "file": each.co_filename,
            "line": each.co_firstlineno,
            "function": each.co_name,
            "time_ns": None if time_s is None else round(time_s * 1e9),
            "guard": _guard(str(reason)),
        }


def _guard(reason: str) -> str:
    """The guard that failed, without its compilation's number and the comment: `0/4: end == 10  # ...`."""
    first = reason.partition("\n")[0].partition(" #")[0].strip()
    number, separator, guard = first.partition(": ")
    return (guard if separator and "/" in number else first)[:_LONGEST_REASON]
