"""Tables of other profilers, compared with hand counts and a slow twin that checks every moment."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from perfprobe.analyse.devices import union_ns
from perfprobe.analyse.peers.held import Held
from perfprobe.analyse.peers.paddle import outermost_events
from perfprobe.merge import link
from perfprobe.tables.peers import PeerTimes, PeerType, Role
from perfprobe.tables.steps import EventKind, StepEvents, StepMark
from perfprobe.tables.strings import Strings
from tests.build import Op, Program, op
from tests.found import find
from tests.report.test_text import META

NAMES = ("aten::add", "aten::mul", "aten::mm")
END_NS = 2000


def some(choice: random.Random, start_ns: int, end_ns: int, depth: int = 0) -> list[Op]:
    """A sequence of operators with others nested in them, and ranges of the program among them."""
    found, at = [], start_ns
    while at < end_ns - 4:
        at += choice.randrange(0, 20)
        last = min(at + choice.randrange(2, 120), end_ns)
        if last <= at:
            break
        inside = some(choice, at, last, depth + 1) if depth < 3 and choice.random() < 0.5 else []
        is_range = choice.random() < 0.15
        scope = {"scope": 7} if is_range else {}
        found.append(op("mine" if is_range else choice.choice(NAMES), at, last, *inside, **scope))
        at = last
    return found


def walked(operators: list[Op], around: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Op]]:
    """Every operator with the operators around it, outermost first. Ranges are skipped."""
    found = []
    for each in operators:
        is_range = each.fields.get("scope") == 7
        found.append((around, each))
        found += walked(list(each.inside), around if is_range else (*around, each.name))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_random_operators_agree_with_a_slow_twin(tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    program = Program(**META)
    threads = [some(choice, 0, END_NS) for _ in range(2)]
    for number, operators in enumerate(threads):
        program.thread(number + 1)
        program.run(*operators, thread=number)
    trace = link(program.recording(tmp_path))
    found, strings = find(trace, PeerTimes)[PeerTimes], trace.recording[Strings]
    wanted: dict[tuple[str, str], list[int]] = {}
    moments: dict[str, set[int]] = {"outer": set(), "inner": set(), "range": set()}
    for around, each in (row for operators in threads for row in walked(operators)):
        is_range = each.fields.get("scope") == 7
        kind = "range" if is_range else "inner" if around else "outer"
        moments[kind] |= {*range(each.start_ns, each.end_ns)}
        if not is_range and len(around) < 2:
            key = (around[0] if around else "", each.name)
            wanted.setdefault(key, []).append(each.end_ns - each.start_ns)
    calls = {
        (strings[within], strings[name]): figures
        for within, name, *figures in zip(
            *(getattr(found.operators, each).tolist() for each in ("within", "name")),
            *(
                getattr(found.operators, f"{each}").tolist()
                for each in ("calls", "total_ns", "least_ns", "most_ns")
            ),
            strict=True,
        )
    }
    assert calls == {key: [len(ns), sum(ns), min(ns), max(ns)] for key, ns in wanted.items()}
    open_ns = dict(zip(found.types.type.tolist(), found.types.open_ns.tolist(), strict=True))
    kinds = {"outer": PeerType.OPERATOR, "inner": PeerType.OPERATOR_INNER, "range": PeerType.USER_DEFINED}
    assert {kind: open_ns.get(kind, 0) for kind in kinds.values()} == {
        kind: len(moments[name]) for name, kind in kinds.items()
    }
    first_ns = min(each.start_ns for operators in threads for each in operators)
    last_ns = max(each.end_ns for operators in threads for each in operators)
    executing = len(moments["outer"] | moments["range"])
    roles = dict(zip(found.roles.role.tolist(), found.roles.time_ns.tolist(), strict=True))
    assert roles == {Role.CPU_EXEC: executing, Role.OTHER: last_ns - first_ns - executing}
    assert found.has_steps is False


def test_kept_intervals_are_limited_and_only_short_gaps_are_lost() -> None:
    held, whole = Held(most=100), 5000
    start_ns = np.arange(whole, dtype=np.int64) * 1000
    for part in np.array_split(start_ns, 50):
        held.add(part, part + 900)
    kept_ns = held.all()
    assert len(kept_ns[0]) <= 100
    assert whole * 900 <= union_ns(*kept_ns) <= whole * 1000
    exact = Held()
    exact.add(start_ns, start_ns + 900)
    assert union_ns(*exact.all()) == whole * 900


def test_an_optimizers_closure_counts_as_optimizer() -> None:
    kinds = (EventKind.NEXT, EventKind.OPTIMIZER, EventKind.CALL, EventKind.BACKWARD, EventKind.CALL)
    bounds = ((0, 10), (20, 90), (30, 50), (50, 90), (95, 99))
    events = StepEvents(
        np.zeros(5, np.int32),
        np.array(kinds, np.int8),
        *(np.array(each, np.int64) for each in zip(*bounds, strict=True)),
    )
    left = outermost_events(events)
    assert left.kind.tolist() == [EventKind.NEXT, EventKind.OPTIMIZER, EventKind.CALL]
    assert len(outermost_events(StepEvents.empty())) == 0


def steps_on_gpu() -> Program:
    """Two steps of 100 ns. A kernel of the first ends 30 ns into the second."""
    program = Program(**META, gpu={"devices": [{"name": "NVIDIA H200"}]})
    program.thread(1)
    for number in range(2):
        at = number * 100
        program.run(
            op("ProfilerStep#0", at, at + 100, op("aten::mm", at + 10, at + 20), scope=7),
        )
        program.api_call("cudaLaunchKernel", at + 12, at + 15, number)
        program.kernel("ncclDevKernel_AllReduce" if number else "gemm", at + 60, at + 130, number)
    return program


def test_a_step_ends_with_the_last_work_it_launched(tmp_path: Path) -> None:
    found = find(link(steps_on_gpu().recording(tmp_path)), PeerTimes)[PeerTimes]
    assert found.steps.end_ns.tolist() == [100, 200]
    sums = [int(found.roles.time_ns[found.roles.step == step].sum()) for step in range(2)]
    assert sums == [130, 100]  # 0 to 130, and 130 to 230
    of = {
        (int(step), int(role)): int(ns)
        for step, role, ns in zip(*found.roles.columns().values(), strict=True)
    }
    assert of[0, Role.KERNEL] == 70
    assert of[1, Role.COMMUNICATION] == 70  # NCCL kernels are not computing
    assert of[0, Role.RUNTIME] == 3
    assert of[0, Role.CPU_EXEC] == 7  # the operator's time minus launching
    assert found.busy_ns == {0: 40 + 30 + 40}  # kernels running within the steps' own time
    launched = dict(zip(found.types.type.tolist(), found.types.calls.tolist(), strict=True))
    assert (launched[PeerType.KERNEL], launched[PeerType.COMMUNICATION]) == (2, 1)


def test_excluded_steps_are_counted_by_reason(tmp_path: Path) -> None:
    program = Program(**META)
    program.thread(1)
    for number, (start_ns, end_ns) in enumerate([(0, 900), (900, 1000), (1000, 1100), (1100, 1200)]):
        inner = op("aten::mm", start_ns + 10, start_ns + 50)
        program.run(op(f"ProfilerStep#{number}", start_ns, end_ns, inner, scope=7))
    found = find(link(program.recording(tmp_path)), PeerTimes)[PeerTimes]
    assert found.left_out == {StepMark.WARM_UP: 1}
    assert found.steps.step.tolist() == [1, 2, 3]
    assert int(found.operators.calls.sum()) == 3  # without those of the warm-up


def test_kernels_and_communication_of_the_steps(tmp_path: Path) -> None:
    """NCCL's kernel runs from 50 to 90, computing kernels from 20 to 40 and 80 to 100."""
    program = Program(**META)
    program.thread(1)
    program.run(op("aten::mm", 0, 100))
    for number, (name, start_ns, end_ns) in enumerate(
        (("gemm", 20, 40), ("ncclDevKernel_AllReduce_Sum_f32", 50, 90), ("gemm", 80, 100))
    ):
        program.api_call("cudaLaunchKernel", 10 + number, 11 + number, number)
        program.kernel(name, start_ns, end_ns, number)
    times = find(link(program.recording(tmp_path)), PeerTimes)[PeerTimes]
    strings = link(program.recording(tmp_path)).recording[Strings]
    kernels = times.kernels
    assert [strings[name] for name in kernels.name.tolist()] == ["gemm", "ncclDevKernel_AllReduce_Sum_f32"]
    assert (kernels.calls.tolist(), kernels.total_ns.tolist()) == ([2, 1], [40, 40])
    assert (kernels.least_ns.tolist(), kernels.most_ns.tolist()) == ([20, 40], [20, 40])
    found = times.distribution
    assert found is not None
    assert (found.communication_ns, found.computation_ns, found.overlap_ns) == (40, 40, 10)
