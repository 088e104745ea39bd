"""Memory for references, with pages between those of a call's operands.

The physical place of its pages changes the bandwidth of a tensor by a fifth, as long as it lives: here
one of 64 MiB against another gave 0.86 to 1.20 in eight processes, each steady; two whose parts were touched
in turn gave 0.99 to 1.03. So a reference's pages are taken while operands are made, a part after each set.
"""

from __future__ import annotations

from typing import Any

_LINE = 16  # floats
_MOST_VIEWS = 1024
_FEWEST_SETS, _MOST_ROTATIONS = 8, 4  # so that their pages are in several physical places


class Arena:
    """Floats on one device, of which no page is there yet.

    Args:
        rotated: how many floats to run through at the least.
        largest: what a set of buffers takes at the most.
    """

    def __init__(self, torch: Any, device: str, rotated: int, largest: int) -> None:
        self._floats = torch.empty(max(rotated, largest * fewest_sets(rotated, largest)), device=device)
        self._taken = 0

    def take(self, part: float) -> None:
        """Touch the pages of this fraction of it; touched pages stay unchanged."""
        end = min(round(part * len(self._floats)), len(self._floats))
        self._floats[self._taken : end].fill_(1.0)
        self._taken = max(self._taken, end)

    def views(self, count: int, buffers: int) -> list[list[Any]]:
        """Sets of so many buffers of so many floats, together what is rotated through."""
        self.take(1.0)
        step = set_floats(count, 1)
        sets = min(len(self._floats) // (step * buffers), _MOST_VIEWS)
        begins = range(0, sets * buffers * step, step)
        views = [self._floats[begin : begin + count] for begin in begins]
        return [views[index : index + buffers] for index in range(0, len(views), buffers)]

    def whole(self, buffers: int) -> list[Any]:
        """All of it as so many buffers."""
        return self.views(len(self._floats) // (buffers * _LINE) * _LINE, buffers)[0]


def fewest_sets(rotated: int, one: int) -> int:
    """Of operands: eight, as long as they do not take more than four rotations."""
    return max(1, min(_FEWEST_SETS, _MOST_ROTATIONS * rotated // max(one, 1)))


def set_floats(count: int, buffers: int) -> int:
    """The size of a set of `count` buffers, each aligned to a cache line."""
    return -(-count // _LINE) * _LINE * buffers
