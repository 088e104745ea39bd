"""A gather's limit: the same runs of memory, at the same places, copied one after another by our own kernel.

Whether lines are read at random or in a row decides how long a gather takes, not how many bytes they have.
The places are those of the call itself: it is done once on a table that holds at each element where that
lies. The reference reads the call's own tables, another one at a time than the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from perfprobe.bench import allocator, own_kernels
from perfprobe.bench.gang import Gang
from perfprobe.bench.reference import Floors, Reference
from perfprobe.bench.subjects import Arguments, Subject
from perfprobe.models.work import Work

_LINE_BYTES = 64
_PLACE_BYTES = 8
_NEAR_LINES = 2  # a processor fetches the next lines of a stream by itself
_MOSTLY = 0.5


@dataclass(frozen=True)
class Gathering:
    """A call that gathers. operator: `aten::take`, without overload; sets: of its operands.

    room_bytes: what places may take.
    """

    operator: str
    sets: Sequence[Arguments]
    room_bytes: int


class GatherReferences:
    """Those of one process, on the CPU."""

    def __init__(self, torch: Any, floors: Floors) -> None:
        self._torch, self._floors = torch, floors
        self._gangs: dict[int, Gang] = {}

    def of(self, work: Work, call: Gathering, threads: int) -> list[Reference]:
        """One; none without our kernel, and where there is no room for the places."""
        table = call.sets[0].args[0]
        span = _span(table)
        # Of every element while they are looked for, then of each run.
        if _PLACE_BYTES * (2 * span + len(call.sets) * work.gathered_runs) > call.room_bytes:
            return []
        kernel = own_kernels.gather_kernel()
        if kernel is None:
            return []
        places = self._torch.arange(span).as_strided(table.size(), table.stride())
        found = [self._places(call.operator, one, places, work.run_elements) for one in call.sets]
        first, run_bytes = found[0]
        made = self._made(kernel, threads, run_bytes * len(first))
        sets = [
            Arguments((_bytes(one.args[0], self._torch), at.numpy(), of_each))
            for one, (at, of_each) in zip(call.sets, found, strict=True)
        ]
        half = len(sets) // 2  # what the call has just read is not read next
        subject = Subject("gather", made, [*sets[half:], *sets[:half]], threads)
        words = f"a gather of {_order(first, run_bytes)} lines"
        return [Reference("gather", words, 1.0, self._floor_ns(kernel, threads), subject)]

    def _places(self, operator: str, one: Arguments, places: Any, run: int) -> tuple[Any, int]:
        """Bytes from the table's begin at which runs begin, and the bytes of each."""
        packet = getattr(self._torch.ops.aten, operator.removeprefix("aten::"))
        kwargs = {name: value for name, value in one.kwargs.items() if name != "out"}
        flat = packet(places, *one.args[1:], **kwargs).flatten()
        item_bytes = one.args[0].element_size()
        rows = flat.view(-1, run)
        if not bool((rows[:, -1] - rows[:, 0] == run - 1).all()):
            return flat * item_bytes, item_bytes
        return rows[:, 0] * item_bytes, run * item_bytes

    def _made(self, kernel: Callable[..., object], threads: int, out_bytes: int) -> Callable[..., object]:
        """Its output is new each time, unless that would be mapped: page faults are no memory limit."""
        torch, gang = self._torch, self._gang(threads)
        kept = None if out_bytes < allocator.MAPPED_BYTES else torch.zeros(out_bytes, dtype=torch.uint8)

        def made(table: object, places: object, run_bytes: int) -> None:
            out = (torch.empty(out_bytes, dtype=torch.uint8) if kept is None else kept).numpy()
            gang.call(lambda part: kernel(table, places, out, run_bytes, part, threads))

        return made

    def _floor_ns(self, kernel: Callable[..., object], threads: int) -> float:
        table, place = (self._torch.zeros(1, dtype=getattr(self._torch, name)) for name in ("uint8", "int64"))
        one = Arguments((table.numpy(), place.numpy(), 1))
        return self._floors.of(f"gather {threads}", self._made(kernel, threads, 1), one)

    def _gang(self, threads: int) -> Gang:
        if threads not in self._gangs:
            self._gangs[threads] = Gang(threads)
        return self._gangs[threads]


def _span(table: Any) -> int:
    """Elements from the first to the last."""
    if not table.numel():
        return 0
    return 1 + sum(
        (int(size) - 1) * int(stride) for size, stride in zip(table.size(), table.stride(), strict=True)
    )


def _bytes(table: Any, torch: Any) -> Any:
    """All from its first element to the last."""
    return table.detach().as_strided((_span(table),), (1,)).view(torch.uint8).numpy()


def _order(places: Any, run_bytes: int) -> str:
    """Sequential where a run mostly begins on the line on which the one before ended, or on the next ones."""
    steps = places[1:] - places[:-1]
    near = (steps >= 0) & (steps <= run_bytes + _NEAR_LINES * _LINE_BYTES)
    return "sequential" if len(steps) and float(near.double().mean()) >= _MOSTLY else "random"
