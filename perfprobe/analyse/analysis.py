"""Makes findings about a recording by the passes that `analyse.findings` declares."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from perfprobe.analyse.beside import Partly
from perfprobe.analyse.call_structure import CallStructureWatch
from perfprobe.analyse.findings import BESIDE, OF_GPUS, PASSES, SHOWN, Asked, Beside, Watcher
from perfprobe.analyse.operator_rows import same_signatures
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings, Totals
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.python import CallStructure
from perfprobe.tables.spent import LoopSpent, RunSpent, Spent
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace

_Key: TypeAlias = tuple[type, tuple[Any, ...]]  # a pass, and the options on which its finding depends
_AS_IT_IS = Asked()
_NAMED = {kind.table_name: kind for kind in SHOWN}


def _nothing(kind: type, asked: Asked) -> None:
    """What lies beside a recording that was read alone."""


class Analysis:
    """All findings about one trace. Each is made when it is first requested, and kept."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._known: dict[_Key, Any] = {}  # findings, and `Partly`
        self._losses: Losses | None = None

    def find(
        self, kinds: Iterable[type | str], asked: Asked = _AS_IT_IS, beside: Beside = _nothing
    ) -> Findings:
        """Returns these findings and those they need, with totals and losses of the operators.

        Args:
            kinds: types of findings, or names of tables.
            asked: options that change what is computed.
            beside: what lies beside the recording. It is not kept, because it may refer to this object.

        Raises:
            InputError: the trace, or a recording beside it, cannot be read.
            UsageError: the focus is not a regular expression.
        """
        types = [_NAMED.get(kind) if isinstance(kind, str) else kind for kind in kinds]
        requested = [kind for kind in types if kind in PASSES]
        wanted = set(_with_needs(requested))
        given = {_key(kind, asked): beside(kind, asked) for kind in BESIDE if kind in wanted}
        known = ChainMap(self._known, given)
        first: type = Totals
        if self.trace.recording.is_profile:  # there are no operators to read
            first = CallStructure
            self._known[_key(CallStructure, asked)] = CallStructureWatch(self.trace).result()
        chosen = [kind for kind in requested if self._recorded(kind, known)]
        order = list(dict.fromkeys(_with_needs([first, *chosen])))
        for kind in order:
            if PASSES[kind].watches:
                self._watch([each for each in order if _can_watch(each, asked, known)], asked, known)
            elif _key(kind, asked) not in known:
                self._known[_key(kind, asked)] = self._made(kind, asked, known)
        found = [_found(known[_key(kind, asked)]) for kind in order]
        lost = (loss for kind in PASSES if kind in wanted for loss in _lost(known.get(_key(kind, asked))))
        return Findings(self.trace, self._losses, *found, focus=asked.focus).plus(*lost)

    def spent(self, by: str | None) -> type[Spent]:
        """The time by stack that a view shows: for "time" or None of the leading loop if there is one."""
        times = self.find((CallStructure, StepTimes)).get(StepTimes) if by in (None, "time") else None
        has_loop = times is not None and len(times.loops) > 0
        return LoopSpent if has_loop and self.find((LoopSpent,)).get(LoopSpent) is not None else RunSpent

    def _made(self, kind: type, asked: Asked, known: Mapping[_Key, Any]) -> Any:
        """The watcher, or the finding, from what it needs, which is known."""
        needs = (_found(known[_key(need, asked)]) for need in PASSES[kind].needs)
        return PASSES[kind].make(self.trace, asked, *needs)

    def _recorded(self, kind: type, known: Mapping[_Key, Any]) -> bool:
        needs = set(_with_needs([kind]))
        beside = needs.intersection(BESIDE)
        if any(_found(known[each, ()]) is None for each in beside):
            return False
        if self.trace.recording.is_profile:
            return bool(beside) and needs - beside <= {kind}
        if kind is MemoryUse:
            return self.trace.memory is not None
        return kind not in OF_GPUS or self.trace.gpu is not None

    def _watch(self, kinds: list[type], asked: Asked, known: Mapping[_Key, Any]) -> None:
        """Read the operators for those of these passes that have not seen them yet."""
        keys = {kind: _key(kind, asked) for kind in kinds}
        watchers = {key: self._made(kind, asked, known) for kind, key in keys.items() if key not in known}
        if not watchers:
            return
        is_summed = any(PASSES[kind].sums_bytes for kind in kinds if keys[kind] in watchers)
        self._losses = read(self.trace, watchers.values(), is_summed)
        self._known |= {key: watcher.result() for key, watcher in watchers.items()}


def read(trace: Trace, watchers: Iterable[Watcher], with_memory: bool = True) -> Losses:
    """Show all operators to the watchers, and return the losses known after reading them.

    with_memory: see `Trace.operators`.

    Raises:
        InputError: the trace cannot be read.
    """
    losses: list[Losses] = []
    same_text = same_signatures(trace)
    for batch in trace.operators(losses, with_memory):
        batch = replace(batch, signature=same_text[batch.signature])  # noqa: PLW2901 (one row, one text)
        for watcher in watchers:
            watcher.add(batch)
    return Losses.concat([trace.recording[Losses], *losses])


def _with_needs(kinds: Iterable[type]) -> Iterator[type]:
    """Returns the findings in an order in which each comes after those that it needs."""
    for kind in kinds:
        yield from _with_needs(PASSES[kind].needs)
        yield kind


def _can_watch(kind: type, asked: Asked, known: Mapping[_Key, Any]) -> bool:
    """Whether this pass watches the operators, and what it needs is known."""
    return PASSES[kind].watches and all(_key(need, asked) in known for need in PASSES[kind].needs)


def _found(made: Any) -> Any:
    return made.found if isinstance(made, Partly) else made


def _lost(made: Any) -> Sequence[Losses]:
    return made.losses if isinstance(made, Partly) else ()


def _key(kind: type, asked: Asked) -> _Key:
    return kind, tuple(getattr(asked, name) for name in PASSES[kind].by)
