"""The text of PARTS: shares in whole percent that sum to 100."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from rich.cells import cell_len

_ROOM = 72  # cells beside the label on a line of 80
Part = TypeVar("Part", bound=Hashable)


def parts_text(
    percents: Mapping[Part, int], order: Sequence[Part], texts: Mapping[Part, str], other: str, of: str = ""
) -> str:
    """`data 40 %, forward 24 %, other 36 %`: the parts in this order, as many as there is room for.

    What there is no room for is in `other`. of: text behind it.
    """
    kept = sorted(order, key=percents.__getitem__)

    def text() -> str:
        return _text(percents, [each for each in order if each in kept], texts, other) + of

    while cell_len(text()) > _ROOM and kept:
        kept = kept[1:]
    return text()


def _text(percents: Mapping[Part, int], kept: Sequence[Part], texts: Mapping[Part, str], other: str) -> str:
    rest = 100 - sum(percents[each] for each in kept)
    pieces = [f"{texts[each]} {percents[each]} %" for each in kept]
    return ", ".join([*pieces, f"{other} {rest} %"] if rest else pieces)


def whole_percents(times_ns: Sequence[int]) -> list[int]:
    """Shares as whole percent that sum to 100: the largest remainders are rounded up."""
    whole_ns = max(sum(times_ns), 1)
    exact = [time_ns * 100 / whole_ns for time_ns in times_ns]
    found = [int(each) for each in exact]
    by_rest = sorted(range(len(exact)), key=lambda at: found[at] - exact[at])
    for at in by_rest[: 100 - sum(found)]:
        found[at] += 1
    return found
