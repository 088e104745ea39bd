"""Rows of call stacks: the places that called an operator, with its times."""

from __future__ import annotations

import difflib
from typing import NamedTuple

import numpy as np

from perfprobe.models.left_out import left_out_by
from perfprobe.report.rows.row import word
from perfprobe.support.errors import InputError, UsageError
from perfprobe.support.frozen import frozen
from perfprobe.support.text import printable
from perfprobe.tables.columns import Mask, Rows
from perfprobe.tables.findings import Findings, Totals
from perfprobe.tables.python import CallStructure, OperatorSites
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Phase, Trace

_NEAR = 0.5
_MOST_NAMES = 4


@frozen(kw_only=True)
class CallStackRow:
    """A stack. In backward it is that of the forward call, unless the program's own Python called it.

    share: its share of the self time of all calls of the operator. frames: outermost first; empty if no
    Python was on the stack.
    """

    operator: str
    phase: str | None
    calls: int
    self_ns: int
    share: float
    frames: tuple[Line, ...]


class CallStacks(NamedTuple):
    """The stacks of one operator with most self time, and how many there are. share: of all operator time."""

    rows: list[CallStackRow]
    stacks: int
    calls: int
    self_ns: int
    share: float


def call_stacks(findings: Findings, asked: str, most: int) -> CallStacks:
    """The first `most` stacks of an operator, 0 for all.

    Args:
        asked: the operator: `aten::div`, `aten::div.Tensor` or `div`.

    Raises:
        InputError: no stacks were recorded.
        UsageError: there is no operator of this name.
    """
    trace, structure = findings.trace, findings.get(CallStructure)
    if structure is None or len(structure.sites) == 0:
        left_out = left_out_by(trace.recording, "operators")
        remedy = f"record without {left_out}" if left_out else "record a program that calls operators"
        raise InputError("no call stacks of operators", trace.recording.path, remedy)
    sites = structure.sites
    rows = sites.take(_named(trace, sites, asked))
    order, first = _by_stack(rows)
    self_ns, calls = (np.add.reduceat(column[order], first) for column in (rows.self_ns, rows.calls))
    whole_ns = int(self_ns.sum())
    shown = np.lexsort((-calls, -self_ns))[: most or None]
    found = [
        CallStackRow(
            operator=_operator(trace, int(rows.name[at]), int(rows.overload[at])),
            phase=word(Phase, int(rows.phase[at])),
            calls=int(calls[group]),
            self_ns=int(self_ns[group]),
            share=int(self_ns[group]) / max(whole_ns, 1),
            frames=_frames(trace, int(rows.stack[at])),
        )
        for group, at in zip(shown.tolist(), order[first[shown]].tolist(), strict=True)
    ]
    of_all = whole_ns / max(findings[Totals].self_ns, 1)
    return CallStacks(found, len(first), int(calls.sum()), whole_ns, of_all)


def _by_stack(rows: OperatorSites) -> tuple[Rows, Rows]:
    """The rows sorted by operator, stack and phase, and the places where each of these groups begins."""
    keys = (rows.phase, rows.overload, rows.name, rows.stack)
    order = np.lexsort(keys)
    differs = [key[order][1:] != key[order][:-1] for key in keys]
    return order, np.append(0, np.flatnonzero(np.logical_or.reduce(differs)) + 1)


def _named(trace: Trace, sites: OperatorSites, asked: str) -> Mask:
    """Returns which rows are of operators of this name."""
    pairs = np.unique(np.stack([sites.name, sites.overload]), axis=1).T.tolist()
    names = {_operator(trace, name, overload): (name, overload) for name, overload in pairs}
    wanted, strings = {asked, f"aten::{asked}"}, trace.recording[Strings]
    chosen = [pair for name, pair in names.items() if name in wanted or strings[pair[0]] in wanted]
    if not chosen:
        raise UsageError(f"no operator {printable(asked)}", trace.recording.path, _near(asked, list(names)))
    found: Mask = np.zeros(len(sites), np.bool_)
    for name, overload in chosen:
        found |= (sites.name == name) & (sites.overload == overload)
    return found


def _near(asked: str, names: list[str]) -> str:
    """A list of similar names. `aten::` and overload are ignored, because many names share them."""
    short = {name.rpartition("::")[2].partition(".")[0]: name.partition(".")[0] for name in names}
    wanted = asked.rpartition("::")[2].partition(".")[0]
    found = difflib.get_close_matches(wanted, list(short), _MOST_NAMES, _NEAR)
    near = ", ".join(printable(short[each]) for each in found)
    return f"the nearest names are {near}" if near else "`perfprobe report --group op` lists all of them"


def _operator(trace: Trace, name: int, overload: int) -> str:
    strings = trace.recording[Strings]
    more = strings[overload] if overload >= 0 else ""
    return f"{strings[name]}.{more}" if more else strings[name]


def _frames(trace: Trace, stack: int) -> tuple[Line, ...]:
    """The frames of a stack, outermost first. It terminates, as a parent's id is less than its child's."""
    stacks, found = trace.recording[Stacks], []
    while stack >= 0:
        line = trace.line(int(stacks.frame[stack]))
        if line is not None:
            found.append(line)
        stack = int(stacks.parent[stack])
    return tuple(reversed(found))
