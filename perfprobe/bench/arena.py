"""Memory for references, with pages interleaved with those of the call's operands.

The physical location of a tensor's pages changes its bandwidth by a fifth for as long as it lives. One tensor
of 64 MiB against another reached 0.86 to 1.20 in eight processes, constant in each. Two tensors whose parts
were touched alternately reached 0.99 to 1.03. So a part of the reference's pages is touched after each set of
operands.
"""

from __future__ import annotations

from typing import Any

_LINE = 16  # floats
_MOST_VIEWS = 1024
_FEWEST_SETS, _MOST_ROTATIONS = 8, 4  # enough that their pages are in several physical places


class Arena:
    """Floats on one device. No page is touched at first.

    Args:
        rotated: the least number of floats to rotate through.
        largest: the size of the largest set of buffers, in floats.
    """

    def __init__(self, torch: Any, device: str, rotated: int, largest: int) -> None:
        self._floats = torch.empty(max(rotated, largest * fewest_sets(rotated, largest)), device=device)
        self._taken = 0

    def take(self, part: float) -> None:
        """Touches the pages up to this fraction of the memory, except those touched before."""
        end = min(round(part * len(self._floats)), len(self._floats))
        self._floats[self._taken : end].fill_(1.0)
        self._taken = max(self._taken, end)

    def views(self, count: int, buffers: int) -> list[list[Any]]:
        """Returns sets of `buffers` tensors with `count` floats each. All sets together cover the memory."""
        self.take(1.0)
        step = set_floats(count, 1)
        sets = min(len(self._floats) // (step * buffers), _MOST_VIEWS)
        begins = range(0, sets * buffers * step, step)
        views = [self._floats[begin : begin + count] for begin in begins]
        return [views[index : index + buffers] for index in range(0, len(views), buffers)]

    def whole(self, buffers: int) -> list[Any]:
        """Returns all of the memory as `buffers` tensors."""
        return self.views(len(self._floats) // (buffers * _LINE) * _LINE, buffers)[0]


def fewest_sets(rotated: int, one: int) -> int:
    """Returns how many sets of operands to make at least: eight, unless those take over four rotations."""
    return max(1, min(_FEWEST_SETS, _MOST_ROTATIONS * rotated // max(one, 1)))


def set_floats(count: int, buffers: int) -> int:
    """Returns the size in floats of `buffers` tensors of `count` floats, each aligned to a cache line."""
    return -(-count // _LINE) * _LINE * buffers
