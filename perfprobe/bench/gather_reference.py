"""The limit of a gather: our own kernel copies the same runs of memory from the same places.

The time of a gather depends on whether cache lines are read at random or sequentially, more than on their
bytes. To find the places, the call runs once on a table that holds the position of each element. The
reference reads the call's own tables, each time a different one from the call.
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
_NEAR_LINES = 2  # a processor prefetches the next lines of a stream
_MOSTLY = 0.5


@dataclass(frozen=True)
class Gathering:
    """A call that gathers.

    Attributes:
        operator: the name without overload, such as `aten::take`.
        sets: its sets of operands.
        room_bytes: the memory that places may take.
    """

    operator: str
    sets: Sequence[Arguments]
    room_bytes: int


class GatherReferences:
    """The gather references of one process, on the CPU."""

    def __init__(self, torch: Any, floors: Floors) -> None:
        self._torch, self._floors = torch, floors
        self._gangs: dict[int, Gang] = {}

    def of(self, work: Work, call: Gathering, threads: int) -> list[Reference]:
        """Returns one reference; none without our kernel or without memory for the places."""
        table = call.sets[0].args[0]
        span = _span(table)
        # One place for each element while searching, then one for each run.
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
        half = len(sets) // 2  # so that a table the call has just read is not read next
        subject = Subject("gather", made, [*sets[half:], *sets[:half]], threads)
        words = f"a gather of {_order(first, run_bytes)} lines"
        return [Reference("gather", words, 1.0, self._floor_ns(kernel, threads), subject)]

    def _places(self, operator: str, one: Arguments, places: Any, run: int) -> tuple[Any, int]:
        """Returns the offset in bytes of each run from the start of the table, and the bytes of a run."""
        packet = getattr(self._torch.ops.aten, operator.removeprefix("aten::"))
        kwargs = {name: value for name, value in one.kwargs.items() if name != "out"}
        flat = packet(places, *one.args[1:], **kwargs).flatten()
        item_bytes = one.args[0].element_size()
        rows = flat.view(-1, run)
        if not bool((rows[:, -1] - rows[:, 0] == run - 1).all()):
            return flat * item_bytes, item_bytes
        return rows[:, 0] * item_bytes, run * item_bytes

    def _made(self, kernel: Callable[..., object], threads: int, out_bytes: int) -> Callable[..., object]:
        """Returns the call of our kernel. Large outputs are reused: new ones would have page faults."""
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
    """Returns the number of elements from the first to the last in memory."""
    if not table.numel():
        return 0
    return 1 + sum(
        (int(size) - 1) * int(stride) for size, stride in zip(table.size(), table.stride(), strict=True)
    )


def _bytes(table: Any, torch: Any) -> Any:
    """Returns the bytes from the first element to the last."""
    return table.detach().as_strided((_span(table),), (1,)).view(torch.uint8).numpy()


def _order(places: Any, run_bytes: int) -> str:
    """Returns "sequential" if most runs begin on the line where the previous one ended, or soon after."""
    steps = places[1:] - places[:-1]
    near = (steps >= 0) & (steps <= run_bytes + _NEAR_LINES * _LINE_BYTES)
    return "sequential" if len(steps) and float(near.double().mean()) >= _MOSTLY else "random"
