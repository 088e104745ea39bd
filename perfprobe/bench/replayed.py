"""A call whose operands were last touched as long ago as in the program."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from perfprobe.bench.drift import calls_between_restores
from perfprobe.bench.rebuild.extents import storage_bytes
from perfprobe.bench.rebuild.operands import Operands
from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.reuse import copies, mixed
from perfprobe.bench.subjects import Arguments, Subject
from perfprobe.tables.measurements import Wanted

_WARM_BYTES = 256 << 10  # of operands that are written: with more copies they are restored less often
_LEAST_KEPT_BYTES = 64 << 10  # of results: keeping them takes time too, and smaller ones are always cached
_MOST_KEPT_BYTES = 64 << 20


def warm_copies(call: Rebuilt) -> int:
    """Returns how many copies count as the same operands."""
    return max(1, _WARM_BYTES // max(call.operand_bytes, 1)) if call.writes else 1


def replayed(torch: Any, call: Rebuilt, sets: Sequence[Operands], wanted: Wanted) -> list[Subject]:
    """Returns the subject "replayed"; none if no reuse distance was recorded.

    Args:
        sets: sets of operands. All are used for operands without a reuse distance.
    """
    tensors = list(call.recipe.tensors())
    known = any(back >= 0 for back in wanted.reuse) or any(place >= 0 for place in wanted.same)
    if not known or {tensor.device for tensor in tensors} != {"cpu"}:
        return []
    sizes = [
        0 if place < len(wanted.same) and wanted.same[place] >= 0 else storage_bytes(tensor)
        for place, tensor in enumerate(tensors)
    ]
    *taken, results = _copies(call, wanted, sizes, len(sets))
    written = [place for place, tensor in enumerate(tensors) if tensor.written]
    for place in written:
        taken[place] = max(taken[place], min(warm_copies(call), len(sets)))
    fewest, most = (of((taken[place] for place in written), default=0) for of in (min, max))
    calls = calls_between_restores(call.recipe.operator, call.recipe.overload)
    arguments = [
        Arguments(args, kwargs, sets[turn].restore if turn < most else None, calls)
        for turn, (args, kwargs) in enumerate(mixed(torch, sets, taken, wanted.same))
    ]
    function = _keeping(call.function, results - 1)
    return [Subject("replayed", function, arguments, wanted.threads, fewest or None)]


def _copies(call: Rebuilt, wanted: Wanted, sizes: Sequence[int], most: int) -> tuple[int, ...]:
    """Returns the number of copies of each operand, and of the results' memory."""
    if call.writes:
        return (*copies(wanted.reuse, sizes, 0, most), 1)  # a tensor written in place is no new result
    if wanted.result_reuse < 0 or call.result_bytes < _LEAST_KEPT_BYTES:
        return (*copies(wanted.reuse, sizes, call.result_bytes, most), 1)
    reuse = [wanted.reuse[place] if place < len(wanted.reuse) else -1 for place in range(len(sizes))]
    *taken, results = copies((*reuse, wanted.result_reuse), (*sizes, call.result_bytes), 0, most)
    return (*taken, min(results, max(1, _MOST_KEPT_BYTES // call.result_bytes)))


def _keeping(function: Callable[..., object], count: int) -> Callable[..., object]:
    """Returns a function that keeps its latest results alive, so that new results get other memory."""
    if count < 1:
        return function
    kept: deque[object] = deque(maxlen=count)

    def keeping(*args: Any, **kwargs: Any) -> None:
        while len(kept) < count:  # all before any is timed, as new memory has page faults
            kept.append(function(*args, **kwargs))
        kept.append(function(*args, **kwargs))

    return keeping
