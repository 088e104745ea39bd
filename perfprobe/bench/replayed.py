"""A call whose operands come from as far back as they did in the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfprobe.bench.rebuild.extents import storage_bytes
from perfprobe.bench.rebuild.operands import Operands
from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.reuse import copies, mixed
from perfprobe.bench.subjects import Arguments, Subject
from perfprobe.tables.measurements import Wanted

_WARM_BYTES = 256 << 10  # of operands that are written: more copies, so that they are put back seldom


def warm_copies(call: Rebuilt) -> int:
    """How many copies count as the same operands again."""
    return max(1, _WARM_BYTES // max(call.operand_bytes, 1)) if call.writes else 1


def replayed(torch: Any, call: Rebuilt, sets: Sequence[Operands], wanted: Wanted) -> list[Subject]:
    """The subject "replayed"; none where the program did not say how far back anything was.

    sets: of operands, as many as are rotated through where nothing is known of an operand.
    """
    tensors = list(call.recipe.tensors())
    known = any(back >= 0 for back in wanted.reuse) or any(place >= 0 for place in wanted.same)
    if not known or {tensor.device for tensor in tensors} != {"cpu"}:
        return []
    sizes = [
        0 if place < len(wanted.same) and wanted.same[place] >= 0 else storage_bytes(tensor)
        for place, tensor in enumerate(tensors)
    ]
    # What is written in place is no new result.
    results = 0 if call.writes else call.result_bytes
    taken = list(copies(wanted.reuse, sizes, results, len(sets)))
    written = [place for place, tensor in enumerate(tensors) if tensor.written]
    for place in written:
        taken[place] = max(taken[place], min(warm_copies(call), len(sets)))
    fewest, most = (of((taken[place] for place in written), default=0) for of in (min, max))
    arguments = [
        Arguments(args, kwargs, sets[turn].restore if turn < most else None)
        for turn, (args, kwargs) in enumerate(mixed(torch, sets, taken, wanted.same))
    ]
    return [Subject("replayed", call.function, arguments, wanted.threads, fewest or None)]
