"""Summaries of blocks, with numbers counted by hand."""

from dataclasses import replace
from typing import Any

import pytest

from perfprobe.bench.answers import RECYCLED, Answer, Changed, Limit, decode, encode
from perfprobe.bench.clocks import Block
from perfprobe.bench.summary import has_faults, spread_of, summarise, with_recycled
from perfprobe.models.work import Work
from perfprobe.tables.machine import Ceiling, Machine
from perfprobe.tables.measurements import Estimate, Measurement, Seen, Untried, Wanted
from tests.snapshots import Snapshot

CALL = Wanted("aten::mm", "f32[8,8] f32[8,8]", threads=2)
WORK = Work(4000, 800, 200, 1000, 1000, "f32", is_product=True, elements=(("exp", 10),))


def block(cpu_ns: float, wall_ns: float = 0.0, canary_ns: float = 10.0, **more: float) -> Block:
    fields: dict[str, Any] = {"other_ns": 0.0, "faults": 0.0, **more}
    return Block(cpu_ns, wall_ns or 2 * cpu_ns, canary_ns=canary_ns, **fields)


def answer(**blocks: list[Block]) -> Answer:
    return Answer(1, operator="aten::mm", blocks=blocks, work=WORK)


def row(*answers: Answer, seen: Seen | None = None, machine: Machine | None = None) -> Measurement:
    return summarise(CALL, seen, answers, machine)


def bound(found: Measurement, kind: str) -> tuple[Estimate, str]:
    (one,) = [bound for bound in found.bounds if bound.kind == kind]
    return one.fraction, one.reference


def test_times_are_medians_of_blocks_and_then_of_processes() -> None:
    processes = [
        answer(rotating=[block(ns), block(ns + 10), block(ns + 999)], warm=[block(50)] * 3)
        for ns in (100, 300, 200)
    ]
    found = row(*processes)
    assert found.rotating == Estimate(210, 110, 310)
    assert found.warm == Estimate(50, 50, 50)
    assert found.wall == Estimate(420, 220, 620)
    assert (found.processes, found.clock, found.contention) == (3, "cpu", 2.0)
    assert found.dtype == "f32"
    assert (found.flops, found.read_bytes, found.write_bytes, found.line_bytes) == (4000, 800, 200, 1000)


def test_a_change_missing_in_one_process_comes_from_the_others() -> None:
    late = Untried("dtype", "f32→bf16", "no time left")
    never = Untried("padded", "K 13→16", "no time left")
    nothing = Untried("", "", "no time left")
    processes = [
        replace(answer(rotating=[block(100)] * 3), untried=[late, never]),
        replace(
            answer(rotating=[block(100)] * 3, other=[block(50)] * 3),
            changes=[Changed("dtype", "f32→bf16", "other")],
            untried=[never],
        ),
        replace(answer(rotating=[block(100)] * 3), untried=[nothing]),
    ]
    found = row(*processes)
    assert [(one.change, one.speedup.value) for one in found.counterfactuals] == [("f32→bf16", 2.0)]
    assert found.untried == (never,)
    assert row(processes[2]).untried == (nothing,)


def test_ratios_use_blocks_of_the_same_round() -> None:
    drifting = [100.0, 200.0, 400.0]
    found = row(
        replace(
            answer(
                rotating=[block(ns) for ns in drifting],
                floor=[block(ns / 10) for ns in drifting],
                other=[block(ns / 2) for ns in drifting],
            ),
            changes=[Changed("dtype", "f32→bf16", "other")],
        )
    )
    assert bound(found, "overhead") == (Estimate(0.1, 0.1, 0.1), "one element")
    assert found.counterfactuals[0].speedup == Estimate(2.0, 2.0, 2.0)


def test_blocks_with_a_slow_clock_are_dropped_with_their_pairs() -> None:
    found = row(
        answer(
            rotating=[block(100), block(100), block(900, canary_ns=20)],
            floor=[block(50, canary_ns=20), block(10), block(10)],
        )
    )
    assert found.rotating == Estimate(100, 100, 100)
    assert bound(found, "overhead")[0].value == pytest.approx(0.1)


def test_the_fastest_alternative_counts_and_kinds_are_separate() -> None:
    limits = [
        Limit("memory", "sum", 1.0, 10.0, "a"),
        Limit("memory", "mm", 1.0, 0.0, "b"),
        Limit("element", "exp", 2.0, 5.0, "c", "exp"),
        Limit("element", "div", 1.0, 0.0, "d", "div"),
        Limit("gemm", "mm 256x256x256", 0.5, 0.0, "e"),
    ]
    names = ("rotating", "a", "b", "c", "d", "e")
    call = answer(**{name: [block(ns)] for name, ns in zip(names, (100, 60, 40, 10, 20, 120), strict=True)})
    found = row(replace(call, limits=limits))
    assert bound(found, "memory") == (Estimate(0.4, 0.4, 0.4), "mm")
    elements = {one.reference: one.fraction.value for one in found.bounds if one.kind == "element"}
    assert elements == pytest.approx({"exp": 0.1, "div": 0.2})
    assert bound(found, "gemm")[0].value == pytest.approx(0.6)  # a value above 1 would be kept


def test_processes_may_use_different_references() -> None:
    def one(subject: str) -> Answer:
        call = answer(rotating=[block(100)], **{subject: [block(50)]})
        return replace(call, limits=[Limit("gemm", subject, 1.0, 0.0, subject)])

    assert bound(row(one("a 256"), one("b 512")), "gemm") == (Estimate(0.5, 0.5, 0.5), "a 256 or b 512")


def test_wall_time_counts_without_contention() -> None:
    quiet = answer(rotating=[block(100, 101)] * 3)
    assert (row(quiet).clock, row(quiet).rotating) == ("wall", Estimate(101, 101, 101))
    assert row(quiet, answer(rotating=[block(100, 104)] * 3)).clock == "cpu"


def test_a_gpu_has_its_own_clock_and_no_replay() -> None:
    call = answer(rotating=[block(10, 11, device_ns=500.0)] * 3)
    found = row(replace(call, device="cuda:0"), seen=Seen(1, 0.5, 100, 100, 100))
    assert (found.clock, found.device, found.replay) == ("gpu", "cuda:0", None)
    assert (found.rotating, found.wall) == (Estimate(500, 500, 500), Estimate(11, 11, 11))


@pytest.mark.parametrize(
    ("call_ns", "cpu_ns", "replay"),
    [(11_000, 40_000, 0.5), (1_000, 40_000, 0.0), (201_000, None, None)],  # 1000 ns are the Python path
)
def test_the_replay_ratio_uses_the_programs_cpu_time(
    call_ns: float, cpu_ns: int | None, replay: float | None
) -> None:
    call = replace(answer(rotating=[block(call_ns)]), path_ns=1000.0)
    found = row(call, seen=Seen(2, 0.5, 800_000, 800_000, cpu_ns))
    assert found.replay == (None if replay is None else pytest.approx(replay))


def test_the_replay_ratio_uses_the_calling_thread() -> None:
    """Another thread was busier; the call's displayed time is that thread's."""
    call = replace(answer(rotating=[block(3_000, own_ns=2_000.0)]), path_ns=1_000.0)
    found = row(call, seen=Seen(2, 0.5, 9_000, 9_000, cpu_ns=4_000))
    assert found.replay == pytest.approx((2_000 - 1_000) / 2_000)
    assert found.rotating == Estimate(3_000, 3_000, 3_000)


def test_a_replay_includes_the_programs_page_faults() -> None:
    call = replace(answer(rotating=[block(1_000, faults=2.0)]), fault_ns=100.0)
    seen = Seen(2, 0.5, 9_000, 9_000, cpu_ns=4_000, faults=20)
    assert row(call, seen=seen).replay == pytest.approx((1_000 + (10 - 2) * 100) / 2_000)
    assert row(call, seen=replace(seen, faults=None)).replay == pytest.approx(1_000 / 2_000)


def test_page_faults_have_a_cost_shared_by_threads() -> None:
    call = replace(answer(rotating=[block(1000, faults=3.0, other_ns=1000.0)]), fault_ns=100.0)
    found = row(call)
    assert (found.faults, found.other_threads, found.fault_ns) == (3.0, 1.0, 150.0)


def test_the_part_of_page_faults_is_computed_per_process() -> None:
    """A process that is twice as slow in everything has the same part."""
    processes = [
        replace(answer(rotating=[block(1000 * slow, faults=3.0)]), fault_ns=100.0 * slow)
        for slow in (1, 2, 3)
    ]
    assert row(*processes).fault_part == Estimate(0.3, 0.3, 0.3)
    assert row(answer(rotating=[block(1000, faults=3.0)])).fault_part is None


def test_processes_disagree_if_their_fractions_differ() -> None:
    """If a process and its reference are twice as slow, it agrees. Without a reference the times decide."""
    limit = [Limit("memory", "copy_", 1.0, 0.0, "a")]
    paired = [
        replace(answer(rotating=[block(100 * slow)], a=[block(50 * slow)]), limits=limit)
        for slow in (1, 2, 3)
    ]
    assert spread_of(paired) == 0
    assert spread_of([replace(one, limits=[]) for one in paired]) == 1
    other = replace(answer(rotating=[block(100)], a=[block(80)]), limits=limit)
    assert spread_of([*paired[:2], other]) == pytest.approx(0.3 / 0.5)
    assert spread_of([Answer(1, not_rebuilt="why")]) == 0


def test_recycled_memory_gains_the_time_of_page_faults(snapshot: Snapshot) -> None:
    changes = [Changed("recycled output", "recycled output", RECYCLED)]
    call = replace(answer(rotating=[block(1000, faults=1.0)] * 3), fault_ns=100.0, changes=changes)
    assert has_faults(call)
    assert not has_faults(replace(call, fault_ns=10.0))
    assert not has_faults(replace(call, changes=[]))
    assert row(call).counterfactuals == ()
    recycled = Answer(1, blocks={RECYCLED: [block(250)] * 5})
    (found,) = row(with_recycled(call, recycled)).counterfactuals
    assert found.speedup == Estimate(4.0, 4.0, 4.0)
    refused = with_recycled(call, Answer(1, not_rebuilt="no glibc"))
    snapshot("\n".join(refused.notes))


def test_known_ceilings_name_the_level_and_the_processors_peak() -> None:
    rate = Estimate(1e11, 1e11, 1e11)
    machine = Machine(
        "m", "k", "2", "2026-01-01", 1.0, 0.1, 1.0,
        ceilings=(Ceiling("isa peak", "cpu", "f32", 2, rate, "fma"),),
        levels=(("LLC", 1 << 25), ("L2", 1 << 20)),
    )  # fmt: skip
    limits = [Limit("memory", "sum", 1.0, 0.0, "a"), Limit("gemm", "mm", 1.0, 0.0, "a")]
    call = replace(answer(rotating=[block(100)], a=[block(50)]), limits=limits, rotated_bytes=1 << 21)
    found = {one.kind: one for one in row(call, machine=machine).bounds}
    assert found["memory"].level == "LLC"
    assert found["gemm"].isa_fraction == pytest.approx(4000 / (100e-9 * 1e11))
    far = {one.kind: one for one in row(replace(call, rotated_bytes=1 << 30), machine=machine).bounds}
    assert far["memory"].level == "DRAM"
    assert {one.kind: one for one in row(call).bounds}["memory"].level is None


def test_an_answer_is_read_back_from_its_line() -> None:
    limits, changes = [Limit("gemm", "mm", 1.0, 0.0, "a")], [Changed("threads", "2→1 threads", "change 0")]
    call = replace(
        answer(rotating=[block(1.5, faults=2.0)]),
        limits=limits,
        changes=changes,
        nested=[("aten::copy_", 0.5)],
        notes=["what a reader must know"],
        untried=[Untried("dtype", "f32→bf16", "no time left")],
        cause="time",
        partial=True,
    )
    assert decode(encode(call)) == call


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "null", "3", '"x"', '{"case": 1}', '{"work": 3, "blocks": 1}']
)
def test_other_lines_are_not_answers(line: str) -> None:
    assert decode(line) is None
