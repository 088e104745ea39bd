"""Makes copies of operands so that each was last touched as far back as in the program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import lcm
from typing import Any, NamedTuple

from perfprobe.tables.events import CACHES, MOST_OPERANDS, RESULT, OperandReuse

_LARGEST_BYTES = 64 << 20  # larger than the caches
_LONGEST_ROUND = 2048  # calls


class Reuse(NamedTuple):
    """Reuse distances of a signature's operands, as in `Wanted`."""

    reuse: tuple[int, ...] = ()
    result_reuse: int = -1
    same: tuple[int, ...] = ()


def by_signature(table: OperandReuse) -> dict[int, Reuse]:
    """Returns what was recorded of each signature's operands, for most of their calls."""
    calls: dict[int, dict[int, dict[int, tuple[int, int]]]] = defaultdict(lambda: defaultdict(dict))
    same: dict[int, dict[int, int]] = defaultdict(dict)
    columns = (table.signature, table.operand, table.same_as, table.bucket, table.calls, table.back_bytes)
    for signature, operand, same_as, bucket, *seen in zip(*(each.tolist() for each in columns), strict=True):
        if signature >= 0 and 0 <= operand <= RESULT and min(seen) >= 0:
            calls[signature][operand][bucket] = seen[0], seen[1]
            same[signature][operand] = same_as if 0 <= same_as < operand else -1
    places = {
        signature: range(1 + max((place for place in operands if place < MOST_OPERANDS), default=-1))
        for signature, operands in calls.items()
    }
    return {
        signature: Reuse(
            tuple(_bytes(operands.get(place, {})) for place in places[signature]),
            _result_bytes(operands.get(RESULT, {})),
            tuple(same[signature].get(place, -1) for place in places[signature]),
        )
        for signature, operands in calls.items()
    }


def _result_bytes(seen: dict[int, tuple[int, int]]) -> int:
    """Returns the reuse distance of a result's memory; -1 if most results were not at a tensor's start."""
    unknown = sum(calls for bucket, (calls, _) in seen.items() if bucket > CACHES)
    return -1 if 2 * unknown > sum(calls for calls, _ in seen.values()) else _bytes(seen, _LARGEST_BYTES)


def _bytes(seen: dict[int, tuple[int, int]], far_bytes: int = -1) -> int:
    """Returns the mean of the median call's bucket; `far_bytes` if it is beyond caches; -1 if unknown."""
    known = {bucket: calls for bucket, calls in sorted(seen.items()) if 0 <= bucket <= CACHES}
    left = sum(calls for calls, _ in known.values()) / 2
    for bucket, (calls, back_bytes) in known.items():
        left -= calls
        if left <= 0:
            return far_bytes if bucket == CACHES else min(back_bytes, _LARGEST_BYTES)
    return -1


def copies(reuse: Sequence[int], sizes: Sequence[int], other_bytes: int, most: int) -> tuple[int, ...]:
    """Returns how many copies of each operand to use in turn, for its reuse distance.

    Args:
        reuse: distances in bytes; -1 or missing for as far as possible.
        sizes: bytes of each operand; 0 for one that is the same as another.
        other_bytes: what each call touches anew.
        most: number of copies available.
    """
    known = {place: reuse[place] for place in range(min(len(sizes), len(reuse))) if reuse[place] >= 0}
    found = [most] * len(sizes)
    nearer_bytes, rest_bytes, copies_before = other_bytes, sum(sizes), 1
    # Between two uses of a copy all other copies are touched, including operands with fewer copies.
    for place in sorted(known, key=lambda place: known[place] + sizes[place]):
        fitting = round((known[place] + sizes[place] - nearer_bytes) / max(rest_bytes, 1))
        found[place] = copies_before = max(copies_before, min(fitting, most))
        nearer_bytes += found[place] * sizes[place]
        rest_bytes -= sizes[place]
    return tuple(found)


def mixed(
    torch: Any, sets: Sequence[Any], taken: Sequence[int], same: Sequence[int]
) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yields args and kwargs of each call of a round, each tensor from the set whose turn it is.

    Args:
        sets: have `args` and `kwargs`.
        taken: for each tensor, also those in lists, the number of sets to use in turn.
        same: for each tensor the position of an earlier tensor to use instead; -1 or missing for none.
    """
    tensors = [_tensors(torch, [*one.args, *one.kwargs.values()]) for one in sets]
    for call in range(min(lcm(*taken), _LONGEST_ROUND)):
        turns = [tensors[call % count][place] for place, count in enumerate(taken)]
        for place, earlier in enumerate(same[: len(turns)]):
            if 0 <= earlier < place and turns[earlier].shape == turns[place].shape:
                turns[place] = turns[earlier]
        left = iter(turns)
        args = [_replaced(torch, one, left) for one in sets[0].args]
        yield args, {name: _replaced(torch, one, left) for name, one in sets[0].kwargs.items()}


def _tensors(torch: Any, value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in _tensors(torch, item)] if isinstance(value, list) else []


def _replaced(torch: Any, value: Any, left: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return next(left)
    return [_replaced(torch, item, left) for item in value] if isinstance(value, list) else value
