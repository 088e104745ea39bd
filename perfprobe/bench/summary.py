"""Combines the processes' answers for a case into a `Measurement`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from statistics import median

from perfprobe.bench import rules
from perfprobe.bench.answers import RECYCLED, Answer, Limit
from perfprobe.bench.clocks import Block
from perfprobe.models.intervals import known_median
from perfprobe.tables.machine import Machine
from perfprobe.tables.measurements import Bound, Counterfactual, Estimate, Measurement, Seen, Untried, Wanted

SOME_FAULTS = 0.05  # part of a call's time

_FLOOR = Limit("overhead", "one element", 1.0, 0.0, "floor")

_Times = Sequence["float | None"]  # of one subject, round by round; None for a round that is left out


class _Process:
    """One process's results, in ns by the case's clock."""

    def __init__(self, answer: Answer, clock: str) -> None:
        self.answer = answer
        names = list(answer.blocks)
        every = [block for name in names for block in answer.blocks[name]]
        at_full_clock = iter(rules.at_full_clock([block.canary_ns for block in every]))
        self._times: Mapping[str, _Times] = {
            name: [
                _time(block, clock) if next(at_full_clock) and fed else None
                for block, fed in zip(answer.blocks[name], _fed(answer.blocks[name]), strict=True)
            ]
            for name in names
        }

    def times(self, name: str) -> _Times:
        """Returns the times of a subject's blocks; all None if this process had no such subject."""
        return self._times.get(name) or (None,) * len(self._times["rotating"])

    def median(self, name: str) -> float | None:
        """Returns ns of a call of this subject."""
        return known_median(self.times(name))

    def speedup(self, name: str) -> float | None:
        """Returns the speedup of another subject, from pairs of the same round.

        Recycled memory has separate rounds, so there it is the ratio of medians.
        """
        calls, others = self.times("rotating"), self.times(name)
        if name == RECYCLED:
            calls, others = [self.median("rotating")], [self.median(name)]
        pairs = zip(calls, others, strict=False)
        return known_median([call / other if call and other else None for call, other in pairs])

    def fault_part(self) -> float | None:
        """Returns the part of page faults in a call's time, assuming that threads share them like work."""
        call_ns, price_ns = self.median("rotating"), self.answer.fault_ns
        blocks = self.answer.blocks["rotating"]
        if price_ns is None or not call_ns:
            return None
        others = median(block.other_ns / block.cpu_ns for block in blocks)
        return median(block.faults for block in blocks) * price_ns / (1.0 + others) / call_ns

    def bounds(self) -> dict[tuple[str, str], tuple[float, str]]:
        """Returns, by kind and part of a limit, its fraction of the call's time and what was timed.

        Of alternatives the fastest counts, because a limit is what the machine can do.
        """
        found: dict[tuple[str, str], tuple[float, str]] = {}
        for limit in (_FLOOR, *self.answer.limits):
            fraction, key = self._fraction(limit), (limit.kind, limit.part)
            if fraction is not None:
                found[key] = min(found.get(key, (inf, "")), (fraction, limit.text))
        return found

    def _fraction(self, limit: Limit) -> float | None:
        """Returns the limit's fraction of the call's time in the same rounds; None without such a subject."""
        rows = zip(self.times("rotating"), self.times(limit.subject), strict=False)
        return known_median(
            [
                max(time_ns - limit.floor_ns, 0.0) * limit.scale / call_ns if call_ns and time_ns else None
                for call_ns, time_ns in rows
            ]
        )


def summarise(
    wanted: Wanted, seen: Seen | None, answers: Sequence[Answer], machine: Machine | None
) -> Measurement:
    """Makes one row, without a verdict."""
    measured = [answer for answer in answers if answer.not_rebuilt is None and answer.blocks]
    if not measured:
        why, cause = answers[0].not_rebuilt or "not measured", answers[0].cause
        return Measurement(wanted, "cpu", "cpu", seen, not_rebuilt=why, cause=cause)
    clock = clock_of(measured)
    processes = [_Process(answer, clock) for answer in measured]
    first = measured[0]
    rotating = _estimate(process.median("rotating") for process in processes)
    tried = _counterfactuals(processes)
    row = Measurement(
        wanted=replace(wanted, operator=first.operator),
        device=first.device,
        clock=clock,
        seen=seen,
        processes=len(measured),
        rotating=rotating,
        warm=_estimate(process.median("warm") for process in processes),
        replayed=_estimate(process.median("replayed") for process in processes),
        wall=_estimate(_of_blocks(answer, lambda block: block.wall_ns) for answer in measured),
        floor=_estimate(process.median("floor") for process in processes),
        contention=known_median(
            _of_blocks(answer, lambda block: block.wall_ns / block.cpu_ns) for answer in measured
        ),
        faults=known_median(_of_blocks(answer, lambda block: block.faults) for answer in measured),
        other_threads=known_median(
            _of_blocks(answer, lambda block: block.other_ns / block.cpu_ns) for answer in measured
        ),
        nested=tuple(first.nested),
        bounds=_bounds(processes),
        counterfactuals=tried,
        untried=_untried(measured, tried),
    )
    row = replace(
        row,
        fault_ns=_fault_ns(row, measured),
        one_fault_ns=known_median(answer.fault_ns for answer in measured),
        fault_part=_estimate(process.fault_part() for process in processes),
        replay=_replay(row, measured),
    )
    return _with_work(row, first, machine)


def with_recycled(answer: Answer, recycled: Answer) -> Answer:
    """Returns the answer with blocks in recycled memory, or with a note why there are none."""
    notes = list(answer.notes)
    if recycled.not_rebuilt is not None:
        notes.append(f"{answer.operator}, recycled output not measured: {recycled.not_rebuilt}")
    return replace(answer, blocks={**answer.blocks, **recycled.blocks}, notes=notes)


def has_faults(answer: Answer) -> bool:
    """Whether page faults take so much of the call that timing it in recycled memory is worthwhile."""
    blocks = answer.blocks.get("rotating", ())
    if not blocks or answer.fault_ns is None or all(of.subject != RECYCLED for of in answer.changes):
        return False
    return median(b.faults for b in blocks) * answer.fault_ns > SOME_FAULTS * median(b.cpu_ns for b in blocks)


def spread_of(answers: Sequence[Answer]) -> float:
    """Returns the relative spread between processes in the decisive figure.

    That is the fraction of the nearest limit, which each process measures in pairs. Without a limit it is the
    call's time.
    """
    measured = [answer for answer in answers if answer.not_rebuilt is None and answer.blocks]
    if not measured:
        return 0.0
    clock = clock_of(measured)
    processes = [_Process(answer, clock) for answer in measured]
    bounds = [bound for bound in _bounds(processes) if bound.kind != _FLOOR.kind]
    nearest = max((bound.fraction for bound in bounds), key=lambda fraction: fraction.value, default=None)
    found = nearest or _estimate(process.median("rotating") for process in processes)
    return rules.spread(found) if found else 0.0


def clock_of(answers: Sequence[Answer]) -> str:
    """Returns which time counts: "gpu", "wall" if other programs disturbed no block, else "cpu"."""
    blocks = [block for answer in answers for of in answer.blocks.values() for block in of]
    if any(block.device_ns is not None for block in blocks):
        return "gpu"
    walls, cpus = [block.wall_ns for block in blocks], [block.cpu_ns for block in blocks]
    return "wall" if rules.uncontended(walls, cpus) else "cpu"


def _time(block: Block, clock: str) -> float:
    return block.wall_ns if clock == "wall" else block.time_ns


def _fed(blocks: Sequence[Block]) -> list[bool]:
    return rules.fed([block.starved for block in blocks])


def _bounds(processes: Sequence[_Process]) -> tuple[Bound, ...]:
    found = [process.bounds() for process in processes]
    keys = dict.fromkeys(key for bounds in found for key in bounds)
    return tuple(_bound(key[0], [bounds[key] for bounds in found if key in bounds]) for key in keys)


def _bound(kind: str, found: Sequence[tuple[float, str]]) -> Bound:
    """Combines the processes' fractions. The fastest reference may differ between processes."""
    fractions = [fraction for fraction, _ in found]
    fraction = Estimate(median(fractions), min(fractions), max(fractions))
    return Bound(kind, fraction, " or ".join(dict.fromkeys(words for _, words in found)))


def _counterfactuals(processes: Sequence[_Process]) -> tuple[Counterfactual, ...]:
    found = []
    of_all = {(of.kind, of.change): of for process in processes for of in process.answer.changes}
    for changed in of_all.values():
        speedup = _estimate(process.speedup(changed.subject) for process in processes)
        if speedup is not None:
            found.append(Counterfactual(changed.kind, changed.change, speedup))
    return tuple(found)


def _untried(measured: Sequence[Answer], tried: Sequence[Counterfactual]) -> tuple[Untried, ...]:
    """Returns what no process tried, and why. "Nothing was tried" only counts if that is so."""
    done = {(of.kind, of.change) for of in tried}
    found = {(of.kind, of.change): of for answer in measured for of in answer.untried}
    return tuple(of for key, of in found.items() if key not in done and (of.kind or not tried))


def _fault_ns(row: Measurement, measured: Sequence[Answer]) -> float | None:
    """Returns ns of page faults on the critical path, assuming that threads share them like work."""
    price_ns = known_median(answer.fault_ns for answer in measured)
    if row.faults is None or price_ns is None:
        return None
    return row.faults * price_ns / (1.0 + (row.other_threads or 0.0))


def _replay(row: Measurement, measured: Sequence[Answer]) -> float | None:
    """Returns the replay's time as a part of the program's CPU time; None without CPU time.

    Wall time would include waiting. On a GPU there is none either: CPU time there is that of the launch.
    """
    seen, rotating = row.seen, row.replayed or row.rotating
    if seen is None or rotating is None or not seen.cpu_ns or not seen.calls or row.clock == "gpu":
        return None
    path_ns = median(answer.path_ns for answer in measured)
    own_ns = known_median(
        _of_blocks(answer, lambda block: block.own_ns or block.cpu_ns, _like_the_program(row))
        for answer in measured
    )
    alone_ns = max((own_ns or rotating.value) - path_ns, 0.0) + _more_faults_ns(row, seen, measured)
    return alone_ns / (seen.cpu_ns / seen.calls)


def _more_faults_ns(row: Measurement, seen: Seen, measured: Sequence[Answer]) -> float:
    """Returns ns of page faults in the program beyond those in isolation: its memory has another history."""
    price_ns = known_median(answer.fault_ns for answer in measured)
    subject = _like_the_program(row)
    faults = known_median(_of_blocks(answer, lambda block: block.faults, subject) for answer in measured)
    alone_ns = _fault_ns(replace(row, faults=faults), measured)
    if seen.faults is None or price_ns is None or alone_ns is None:
        return 0.0
    return seen.faults / seen.calls * price_ns - alone_ns


def _with_work(row: Measurement, answer: Answer, machine: Machine | None) -> Measurement:
    work = answer.work
    if work is None:
        return row
    bounds = row.bounds
    if machine is not None and row.rotating is not None:
        level = _level(answer.rotated_bytes, machine)
        rate = _isa_rate(machine, work.dtype, row)
        isa = None if rate is None else work.flops / (row.rotating.value * 1e-9 * rate)
        bounds = tuple(
            replace(bound, level=level)
            if bound.kind == "memory"
            else replace(bound, isa_fraction=isa)
            if bound.kind == "gemm"
            else bound
            for bound in bounds
        )
    return replace(
        row,
        dtype=work.dtype,
        flops=work.flops,
        read_bytes=work.read_bytes,
        write_bytes=work.write_bytes,
        line_bytes=work.line_bytes,
        bounds=bounds,
    )


def _level(rotated_bytes: int, machine: Machine) -> str | None:
    """Returns the level of memory that the call's rotation uses."""
    for name, upper_bytes in sorted(machine.levels, key=lambda level: level[1]):
        if rotated_bytes <= upper_bytes:
            return name
    return "DRAM" if machine.levels else None


def _isa_rate(machine: Machine, dtype: str, row: Measurement) -> float | None:
    """Returns FLOP/s; None if it was not measured."""
    for ceiling in machine.ceilings:
        same = (ceiling.kind, ceiling.device, ceiling.dtype) == ("isa peak", row.device, dtype)
        if same and (ceiling.threads == row.wanted.threads or row.device != "cpu"):
            return ceiling.rate.value
    return None


def _like_the_program(row: Measurement) -> str:
    return "replayed" if row.replayed else "rotating"


def _of_blocks(answer: Answer, value: Callable[[Block], float], subject: str = "rotating") -> float | None:
    blocks = answer.blocks.get(subject, ())
    return median(map(value, blocks)) if blocks else None


def _estimate(values: Iterable[float | None]) -> Estimate | None:
    return rules.estimate([value for value in values if value is not None])
