"""What torch.compile compiled, by function."""

from __future__ import annotations

from typing import Any

from perfprobe.tables.compilations import Compilations, CompiledFunction
from perfprobe.tables.trace import Line, Trace, line_of

_LONGEST_NS = 1 << 53


def compilations(trace: Trace) -> Compilations | None:
    """All compiled functions, most compilations first; None if nothing was compiled."""
    calls = trace.recording.fact("compilations", "calls")
    found: dict[Line, list[dict[str, Any]]] = {}
    for call in calls if isinstance(calls, list) else []:
        line = line_of(call)
        if line is not None:
            found.setdefault(line, []).append(call)
    functions = [_function(line, of_line) for line, of_line in found.items()]
    functions.sort(key=lambda each: (-each.number, -(each.time_ns or 0)))
    is_cut = trace.recording.fact("compilations", "more") is True
    return Compilations(tuple(functions), is_cut) if functions else None


def _function(line: Line, calls: list[dict[str, Any]]) -> CompiledFunction:
    times_ns = [call.get("time_ns") for call in calls]
    known_ns = [each for each in times_ns if type(each) is int and 0 <= each < _LONGEST_NS]
    guards = [guard for call in calls if isinstance(guard := call.get("guard"), str) and guard]
    return CompiledFunction(
        line=line,
        number=len(calls),
        time_ns=sum(known_ns) if len(known_ns) == len(calls) else None,
        again_ns=sum(known_ns[1:]) if len(known_ns) == len(calls) else None,
        guard=guards[-1] if guards else "",
    )
