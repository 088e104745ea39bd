"""Times one case in a measuring process: rebuilds the call, prepares the comparisons, runs the rounds."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from perfprobe.bench import allocator
from perfprobe.bench.answers import NO_TIME, RECYCLED, Answer, Case, Changed, Limit
from perfprobe.bench.arena import Arena, fewest_sets
from perfprobe.bench.clocks import Block, Clock, DeviceClock, HostClock
from perfprobe.bench.counterfactuals import Change, changes
from perfprobe.bench.deadline import Deadline
from perfprobe.bench.denormals import FLUSHED, flushing, makes_denormals
from perfprobe.bench.drift import calls_between_restores
from perfprobe.bench.dtype_products import DtypeProducts
from perfprobe.bench.equivalents.tried import DIFFERS, fitting, is_equal
from perfprobe.bench.gather_reference import Gathering
from perfprobe.bench.nested import nested
from perfprobe.bench.path import PythonPath, short
from perfprobe.bench.rebuild.operands import Operands
from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.rebuild.recipe import CallRecipe, MachineLacks, NotRebuilt
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import schemas
from perfprobe.bench.reference import Reference
from perfprobe.bench.references import References
from perfprobe.bench.replayed import replayed, warm_copies
from perfprobe.bench.subjects import Arguments, Rounds, Subject, Timing
from perfprobe.models.signature import parse, tensors
from perfprobe.models.work import work
from perfprobe.support import units
from perfprobe.tables.measurements import CALL, MACHINE, Untried, Wanted

_LEAST_ROTATED_BYTES = 64 << 20
_MOST_COPIES = 1024
_RECYCLED_CALLS = 4  # until every block that the heap reuses in turn has been used
_NESTED_CALLS = 5
_AGAIN = ("warm", "replayed")  # the call with other operands
_USUAL_L2_BYTES = 2 << 20
_NO_KERNEL = re.compile(r"Could not run '.*?' with arguments from the '(\w+)' backend")  # then half a page
_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, MemoryError)


@dataclass(frozen=True)
class DeviceTools:
    """What measuring on one device needs. rotated_bytes: least size of all copies of a call's operands."""

    device: str
    clock: Clock
    references: References
    products: DtypeProducts
    rotated_bytes: int


class Bench:
    """Answers the cases of one measuring process.

    Args:
        seconds: approximate CPU time of a case.
        memory_bytes: the most that all operands of a case may take.
    """

    def __init__(self, torch: Any, *, seconds: float, memory_bytes: int, seed: int) -> None:
        self._torch = torch
        self._seconds, self._memory_bytes = seconds, memory_bytes
        self._order, self._seed = random.Random(seed), seed
        self._known_tools: dict[str, DeviceTools] = {}
        allocator.settle()
        self._fault_ns = allocator.fault_ns()
        self._path = PythonPath(torch)

    def answer(self, case: Case, say: Callable[[Answer], object] = lambda _: None) -> Answer:
        """Measures a case. If torch raises, the answer says why the call was not rebuilt.

        Args:
            say: called with partial answers while measuring.
        """
        deadline = Deadline(case.limit_s)
        try:
            if case.recycled:
                return self._recycled(case, deadline)
            return self._measured(case, deadline, say)
        except MachineLacks as why:
            return Answer(case.number, not_rebuilt=str(why), cause=MACHINE)
        except NotRebuilt as why:
            return Answer(case.number, not_rebuilt=str(why), cause=CALL)
        except MemoryError as error:
            return Answer(case.number, not_rebuilt=f"torch rejected it: {_line(error)}", cause=MACHINE)
        except _REFUSALS as error:
            return _rejected(case, error)

    def _measured(self, case: Case, deadline: Deadline, say: Callable[[Answer], object]) -> Answer:
        wanted = case.wanted
        made = self._recipe(wanted)
        allocator.map_apart()
        call = Rebuilt(made, self._torch)
        operator = f"{made.operator}.{made.overload}".removesuffix(".")
        tools = self._tools(wanted.signature)
        model = work(operator, wanted.signature)
        room = self._memory_bytes - (2 * model.write_bytes + model.read_bytes if model else 0)
        arena = tools.references.arena(model)
        operands = self._operands(call, tools, room, arena)
        sets = [_arguments(one, call) for one in operands]
        room -= len(sets) * call.operand_bytes * (1 + call.writes)
        evict = tools.references.rotation(model, arena)
        subjects = self._of_the_call(call, sets, wanted.threads, evict)
        subjects += replayed(self._torch, call, operands, wanted)
        gathering = Gathering(made.operator, sets, room)
        references = (
            tools.references.of(model, wanted.threads, call.writes, arena, gathering) if model else []
        )
        call_itself = replace(wanted, operator=operator)
        processors = len(os.sched_getaffinity(0))
        beside = changes(call_itself, made, wanted.threads, model, processors) if case.with_changes else ()
        if case.with_changes:
            beside = (*self._more(call_itself, call, sets[0]), *beside)
        tries = self._tries(beside, tools, room, evict)
        answer = Answer(
            case.number,
            operator=operator,
            device=tools.device,
            limits=[_limit(reference) for reference in references],
            work=model,
            rotated_bytes=len(sets) * call.operand_bytes,
            fault_ns=self._fault_ns,
        )
        allocator.settle()
        again = [subject for subject in subjects if subject.name in _AGAIN]
        first = [subject for subject in subjects if subject.name not in _AGAIN]
        first += [reference.subject for reference in references]
        timing = self._timing(tools, deadline, lambda found: say(_with_blocks(answer, tries, found, True)))
        found = timing.rounds(first, [*again, *tries.subjects.values()])
        self._torch.set_num_threads(wanted.threads)
        answer = _with_blocks(answer, tries, found)
        say(replace(answer, partial=True))
        return replace(
            answer,
            nested=nested(self._torch, operator, subjects[0]) if _has_time(deadline, found) else (),
            path_ns=self._path.ns(operator, subjects[0]) if short(found.blocks["rotating"]) else 0.0,
        )

    def _timing(self, tools: DeviceTools, deadline: Deadline, tell: Callable[[Rounds], object]) -> Timing:
        set_threads = self._torch.set_num_threads
        return Timing(tools.clock, self._seconds, self._order, set_threads, deadline, tell)

    def _recycled(self, case: Case, deadline: Deadline) -> Answer:
        wanted = case.wanted
        if not allocator.recycle():
            raise NotRebuilt("the allocator is not glibc's")
        call, tools = Rebuilt(self._recipe(wanted), self._torch), self._tools(wanted.signature)
        sets = self._sets(call, tools, self._memory_bytes)
        subject = Subject(RECYCLED, call.function, sets, wanted.threads)
        subject.run(_RECYCLED_CALLS)
        set_threads = self._torch.set_num_threads
        timing = Timing(tools.clock, self._seconds / 4, self._order, set_threads, deadline)
        return Answer(case.number, blocks=timing.rounds([subject]).blocks)

    def _recipe(self, wanted: Wanted) -> CallRecipe:
        return recipe(wanted, schemas(wanted.operator, self._torch), self._memory_bytes)

    def _of_the_call(
        self, call: Rebuilt, sets: Sequence[Arguments], threads: int, evict: Callable[[], object]
    ) -> list[Subject]:
        """Makes subjects of the call: on all copies in turn, on the same operands, on single elements."""
        copies = warm_copies(call)
        found = [
            Subject("rotating", call.function, sets, threads, evict=evict),
            Subject("warm", call.function, sets[:copies], threads),
        ]
        try:
            one = Rebuilt(call.one_element(), self._torch)
            few = [_arguments(one.operands(index), one) for index in range(64 if one.writes else 1)]
            found.append(Subject("floor", one.function, few, threads))
        except NotRebuilt:
            pass  # some operators have no smallest case: their floor is None
        return found

    def _tries(
        self, beside: Sequence[Change], tools: DeviceTools, room: int, evict: Callable[[], object]
    ) -> Tries:
        """Makes a subject for each change that is useful and possible."""
        found = Tries(beside)
        for at, change in enumerate(beside):
            if change.recycled:
                continue
            if (reason := self._not_worth(change, tools)) is not None:
                found.untried.append(Untried(change.kind, change.change, reason))
                continue
            try:
                call = Rebuilt(self._recipe(change.wanted), self._torch)
                if change.form is not None and not is_equal(self._torch, call, change.form, self._seed):
                    found.untried.append(Untried(change.kind, change.change, DIFFERS))
                    continue
                sets = self._sets(call, self._tools(change.wanted.signature), room)
            except (NotRebuilt, *_REFUSALS) as why:
                found.refused[change] = _line(why)
                continue
            function = _with_copies(call.function, change.copied)
            function = flushing(self._torch, function) if change.flushed else function
            function = partial(change.form.call, self._torch) if change.form is not None else function
            # The same in all processes, even if one leaves out what another one tries.
            name, threads = f"change {at}", change.wanted.threads
            found.subjects[change] = Subject(name, function, sets, threads, evict=evict)
            room -= len(sets) * call.operand_bytes * (1 + call.writes)
        return found

    def _more(self, wanted: Wanted, call: Rebuilt, operands: Arguments) -> Iterator[Change]:
        """Yields changes that depend on the operands."""
        if makes_denormals(self._torch, call.function, operands):
            yield Change("flushed", FLUSHED, wanted, flushed=True)
        for form in () if call.writes else fitting(wanted.operator, operands.args, operands.kwargs):
            yield Change("equivalent", form.shown, wanted, form=form)

    def _not_worth(self, change: Change, tools: DeviceTools) -> str | None:
        """Returns why another dtype is not worth trying: its products are slower here. None if it is."""
        if change.products is None:
            return None
        old, new = change.products
        speedup = tools.products.speedup(old, new, change.wanted.threads, change.convolves)
        if speedup is None or speedup >= 1:
            return None
        return f"products of {new} are slower here than those of {old}: {units.significant(speedup, 2)}x"

    def _sets(self, call: Rebuilt, tools: DeviceTools, room: int) -> list[Arguments]:
        return [_arguments(one, call) for one in self._operands(call, tools, room)]

    def _operands(
        self, call: Rebuilt, tools: DeviceTools, room: int, arena: Arena | None = None
    ) -> list[Operands]:
        """Makes copies of the operands, more than the caches hold if memory allows.

        Args:
            arena: its pages are touched in between.
        """
        each = max(call.operand_bytes, 1) * (1 + call.writes)
        if each > room:
            limit = self._memory_bytes >> 20
            raise MachineLacks(f"it needs more than the allowed {limit} MiB of memory")
        one, rotated = max(call.operand_bytes, 1), tools.rotated_bytes
        wanted = max(-(-rotated // one), fewest_sets(rotated, one))
        copies = max(1, min(wanted, _MOST_COPIES, room // (4 * each)))
        found = []
        for index in range(copies):
            found.append(call.operands(self._seed + index))
            if arena is not None:
                arena.take((index + 1) / copies)
        return found

    def _tools(self, signature: str) -> DeviceTools:
        devices = {tensor.device for tensor in tensors(parse(signature) or ())} - {"cpu"}
        device = min(devices, default="cpu")
        if device not in self._known_tools:
            self._known_tools[device] = self._new_tools(device)
        return self._known_tools[device]

    def _new_tools(self, device: str) -> DeviceTools:
        host = HostClock()
        clock: Clock = host
        l2_bytes = _l2_bytes() * self._torch.get_num_threads()
        if device.startswith("cuda"):
            self._torch.cuda.set_device(device)
            clock = DeviceClock(self._torch.cuda, host)
            l2_bytes = self._torch.cuda.get_device_properties(device).L2_cache_size
        elif device != "cpu":
            raise MachineLacks(f"there is no clock for {device}")
        rotated = max(_LEAST_ROTATED_BYTES, 2 * l2_bytes)
        references = References(self._torch, clock, device, rotated)
        return DeviceTools(device, clock, references, DtypeProducts(self._torch, clock, device), rotated)


@dataclass
class Tries:
    """Changed calls to try.

    Attributes:
        refused: why a changed call cannot be made.
    """

    beside: Sequence[Change]
    subjects: dict[Change, Subject] = field(default_factory=dict)
    refused: dict[Change, str] = field(default_factory=dict)
    untried: list[Untried] = field(default_factory=list)


def _with_blocks(answer: Answer, tries: Tries, found: Rounds, partial: bool = False) -> Answer:
    """Returns the answer with the times and the outcome of each change."""
    timed = {change: of.name for change, of in tries.subjects.items() if of.name in found.blocks}
    timed |= {change: RECYCLED for change in tries.beside if change.recycled}
    late = [change for change, of in tries.subjects.items() if of.name in found.untimed]
    refused = tries.refused | {
        change: found.refused[of.name] for change, of in tries.subjects.items() if of.name in found.refused
    }
    return replace(
        answer,
        blocks={name: list(of) for name, of in found.blocks.items()},
        changes=[Changed(change.kind, change.change, name) for change, name in timed.items()],
        untried=[*tries.untried, *(Untried(change.kind, change.change, NO_TIME) for change in late)],
        notes=[
            *(
                f"{answer.operator}, {change.kind} {change.change} not measured: {refused[change]}"
                for change in tries.beside
                if change in refused
            ),
            *_starved(answer.operator, found.blocks),
        ],
        partial=partial,
    )


def _has_time(deadline: Deadline, found: Rounds) -> bool:
    """Whether time is left for a few more calls."""
    return deadline.left_s() > _NESTED_CALLS * max(block.wall_ns for block in found.blocks["rotating"]) * 1e-9


def _starved(operator: str, blocks: Mapping[str, Sequence[Block]]) -> list[str]:
    """Returns a note if the GPU waited even after a long head start, as with calls that synchronize."""
    if not all(block.starved for block in blocks["rotating"]):
        return []
    return [f"{operator}: the GPU waited for the host between the calls: its time contains that of launching"]


def _arguments(operands: Operands, call: Rebuilt) -> Arguments:
    calls = calls_between_restores(call.recipe.operator, call.recipe.overload)
    return Arguments(operands.args, operands.kwargs, operands.restore if call.writes else None, calls)


def _limit(reference: Reference) -> Limit:
    return Limit(
        reference.kind,
        reference.text,
        reference.scale,
        reference.floor_ns,
        reference.subject.name,
        reference.part,
    )


def _with_copies(function: Callable[..., object], places: Sequence[int]) -> Callable[..., object]:
    """Returns the function with these arguments (tensors or lists of tensors) made contiguous first."""
    if not places:
        return function

    def copied(*args: Any, **kwargs: Any) -> object:
        changed = list(args)
        for place in places:
            one = changed[place]
            changed[place] = (
                [item.contiguous() for item in one] if isinstance(one, list | tuple) else one.contiguous()
            )
        return function(*changed, **kwargs)

    return copied


def _rejected(case: Case, error: BaseException) -> Answer:
    missing = _NO_KERNEL.match(str(error))
    if missing is None:
        return Answer(case.number, not_rebuilt=f"torch rejected it: {_line(error)}", cause=CALL)
    why = f"torch has no kernel of it for {missing[1]}: measure it where it was recorded"
    return Answer(case.number, not_rebuilt=why, cause=MACHINE)


def _line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _l2_bytes() -> int:
    try:
        return max(os.sysconf("SC_LEVEL2_CACHE_SIZE"), _USUAL_L2_BYTES)
    except (OSError, ValueError):
        return _USUAL_L2_BYTES
