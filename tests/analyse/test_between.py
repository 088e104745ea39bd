import random
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.analyse import between as module
from perfprobe.analyse.between import BetweenOperators
from perfprobe.merge import link
from perfprobe.tables.between import Between
from perfprobe.tables.events import Losses
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.build import Op, Program, op
from tests.found import watched

TORCH = "/env/site-packages/torch/nn/modules/module.py:1500 _call_impl"


def run(recording: Recording) -> tuple[Trace, Between]:
    trace = link(recording)
    watcher = BetweenOperators(trace)
    watched(trace, watcher)
    return trace, watcher.result()


def places(trace: Trace, found: Between) -> dict[tuple[str, ...], tuple[int, int, int]]:
    """(line, to line, caller) as text, with count, total and longest of each."""

    def place(frame: int) -> str:
        line = trace.line(frame)
        return f"{line.file}:{line.line} {line.function}" if line else ""

    rows = found.rows
    keys = [tuple(map(place, ids)) for ids in zip(rows.frame, rows.to_frame, rows.caller, strict=True)]
    values = zip(rows.count.tolist(), rows.total_ns.tolist(), rows.longest_ns.tolist(), strict=True)
    return dict(zip(keys, values, strict=True))


def test_by_hand(tmp_path: Path) -> None:
    program = Program(start={"monotonic_ns": 100}, stop={"monotonic_ns": 2000})
    program.thread(1)
    load = program.stack("a.py:9 <module>", "a.py:40 main")
    first = program.stack("a.py:9 <module>", "a.py:44 main", TORCH, "a.py:10 step")
    last = program.stack("a.py:9 <module>", "a.py:44 main", TORCH, "a.py:20 step")
    inner = program.stack("a.py:9 <module>", "a.py:44 main", TORCH, "a.py:20 step", "b.py:1 f")
    program.run(
        op("load", 150, 200, stack=load),
        # numpy, 300 ns
        op("mm", 500, 510, op("copy", 501, 509, stack=first), stack=first),
        # 5 ns of Python, in a range
        op("range", 511, 600, op("mm", 515, 550, stack=last), scope=7, stack=last),
        op("mm", 560, 600, stack=inner),
        op("load", 700, 710, stack=load),
        op("mm", 710, 720, stack=first),
        op("mm", 725, 730, stack=last),
    )
    trace, found = run(program.recording(tmp_path))
    assert places(trace, found) == {
        ("a.py:40 main", "a.py:44 main", "a.py:9 <module>"): (2, 300, 300),
        ("a.py:44 main", "a.py:40 main", "a.py:9 <module>"): (1, 100, 100),
        ("a.py:10 step", "a.py:20 step", "a.py:44 main"): (2, 10, 5),
        ("a.py:20 step", "a.py:20 step", "a.py:44 main"): (1, 10, 10),
    }
    assert (found.before_ns, found.after_ns, found.threads) == (50, 1270, 1)
    assert found.total_ns == 420 + 50 + 1270
    assert found.rows.total_ns.tolist() == [300, 100, 10, 10]


def test_the_place_is_where_two_stacks_differ(tmp_path: Path) -> None:
    program = Program()
    net = program.module("", "Net")
    layers = [program.module(name, "Layer", net) for name in "ab"]
    root, main = "a.py:9 <module>", "a.py:44 main"
    stacks = {
        "none": -1,
        "main": program.stack(root, main),
        "layer a": program.stack(root, main, (TORCH, layers[0]), "a.py:5 forward"),
        "layer a, later": program.stack(root, main, (TORCH, layers[0]), "a.py:6 forward"),
        "layer b": program.stack(root, main, (TORCH, layers[1]), "a.py:6 forward"),
        "torch": program.stack(root, main, TORCH),
        "torch, later": program.stack(root, main, TORCH.replace("1500", "1501")),
        "elsewhere": program.stack("c.py:1 thread"),
    }
    at = 0
    expected = {
        ("layer a", "layer a, later"): ("a.py:5 forward", "a.py:6 forward", "a.py:44 main"),
        ("layer a", "layer b"): (
            "a.py:44 main",
            "a.py:44 main",
            root,
        ),  # different modules are different calls
        ("torch", "torch, later"): ("a.py:44 main", "a.py:44 main", root),
        ("torch", "layer a"): ("a.py:44 main", "a.py:44 main", root),
        ("main", "layer a"): ("a.py:44 main", "a.py:44 main", root),
        ("layer a", "layer a"): ("a.py:5 forward", "a.py:5 forward", "a.py:44 main"),
        ("main", "elsewhere"): ("", "", ""),
        ("none", "main"): ("", "", ""),
        ("none", "none"): ("", "", ""),
        ("elsewhere", "elsewhere"): ("c.py:1 thread", "c.py:1 thread", ""),
    }
    for number, ((before, after), place) in enumerate(expected.items()):
        made = Program()
        made.__dict__.update({**program.__dict__, "operators": []})
        made.run(op("x", at, at + 1, stack=stacks[before]), op("x", at + 8, at + 9, stack=stacks[after]))
        folder = tmp_path / str(number)
        folder.mkdir()
        assert places(*run(made.recording(folder))) == {place: (1, 7, 7)}, (before, after)


def test_only_the_busiest_thread_counts(tmp_path: Path) -> None:
    program = Program()
    stacks = [program.stack(f"a.py:{line} main") for line in (1, 2)]
    for thread in (0, 1):
        program.thread(thread + 1)
        length = 10 + 50 * thread
        made = [op("mm", at, at + length, stack=stacks[thread]) for at in range(0, 1000, 100)]
        program.run(*made, thread=thread)
    trace, found = run(program.recording(tmp_path, 7))
    assert places(trace, found) == {("a.py:2 main", "a.py:2 main", ""): (9, 9 * 40, 40)}
    assert found.threads == 2
    assert found.before_ns is None  # the start of this recording is not known


def test_without_operators_there_are_no_gaps(tmp_path: Path) -> None:
    program = Program(start={"monotonic_ns": 0}, stop={"monotonic_ns": 9})
    program.run(op("epoch", 1, 8, scope=7))
    _, found = run(program.recording(tmp_path))
    assert (len(found.rows), found.threads, found.total_ns) == (0, 0, 0)


def test_operators_that_overlap_leave_no_negative_time(tmp_path: Path) -> None:
    program = Program()
    program.run(op("a", 0, 50), op("b", 40, 60), op("c", 70, 80))
    _, found = run(program.recording(tmp_path))
    assert (found.rows.count.tolist(), found.rows.total_ns.tolist()) == ([2], [10])


def random_program(seed: int) -> tuple[Program, list[list[Op]]]:
    """Nested operators and ranges on two threads, and those of each thread."""
    rng = random.Random(seed)
    program = Program()
    stacks = [-1]
    for _ in range(25):
        frames = [f"{rng.choice('ab')}.py:{rng.randrange(1, 5)} {rng.choice('fg')}" for _ in range(4)]
        stacks.append(program.stack(*frames[: rng.randrange(1, 5)]))

    def made(start_ns: int, end_ns: int, depth: int) -> list[Op]:
        cuts = sorted(rng.sample(range(start_ns + 1, end_ns), min(6, (end_ns - start_ns - 1) // 4 * 2)))
        found = []
        for begin, end in zip(cuts[::2], cuts[1::2], strict=True):
            inside = made(begin, end, depth + 1) if depth < 4 and end - begin > 8 else []
            fields = {"stack": rng.choice(stacks), "scope": 7 if rng.random() < 0.4 else 0}
            found.append(op("x", begin, end, *inside, **fields))
        return found

    threads = []
    for thread in range(2):
        program.thread(thread + 1)
        threads.append([item for at in range(40) for item in made(at * 1000, at * 1000 + 1000, 0)])
        program.run(*threads[-1], thread=thread)
    return program, threads


def outermost(operators: list[Op]) -> list[Op]:
    found = []
    for item in operators:
        found += [item] if item.fields["scope"] != 7 else outermost(list(item.inside))
    return found


def frames_of(trace: Trace, stack: int) -> list[int]:
    chain: list[int] = []
    while stack >= 0:
        chain.insert(0, stack)
        stack = int(trace.recording[Stacks].parent[stack])
    return chain


def twin(trace: Trace, operators: list[Op]) -> dict[tuple[Any, ...], list[int]]:
    """The same, computed interval by interval. Every frame belongs to the user."""
    recording = trace.recording
    frames = recording[Frames]

    def place(stack: int) -> tuple[str, str, int]:
        frame = int(recording[Stacks].frame[stack])
        return (
            recording[Strings][frames.file[frame]],
            recording[Strings][frames.function[frame]],
            int(frames.line[frame]),
        )

    found = defaultdict(list)
    rows = outermost(operators)
    for before, after in pairwise(rows):
        left, right = frames_of(trace, before.fields["stack"]), frames_of(trace, after.fields["stack"])
        common = 0
        while common < min(len(left), len(right)) and left[common] == right[common]:
            common += 1
        key: tuple[Any, ...] = (None, None)
        if common < min(len(left), len(right)) and place(left[common])[:2] == place(right[common])[:2]:
            key = (place(left[common]), place(right[common]))
        elif common:
            key = (place(left[common - 1]),) * 2
        found[key].append(after.start_ns - before.end_ns)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_against_a_slow_twin(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GROUPS", 10)
    program, threads = random_program(seed)
    trace, found = run(program.recording(tmp_path, 100_000))
    busy = [sum(item.end_ns - item.start_ns for item in outermost(thread)) for thread in threads]
    expected = twin(trace, threads[busy.index(max(busy))])
    made = {}
    for at in range(len(found.rows)):
        lines = [trace.line(int(column[at])) for column in (found.rows.frame, found.rows.to_frame)]
        key = tuple(line and (line.file, line.function, line.line) for line in lines)
        made[key] = [
            int(column[at]) for column in (found.rows.count, found.rows.total_ns, found.rows.longest_ns)
        ]
    assert made == {key: [len(times), sum(times), max(times)] for key, times in expected.items()}


def test_batch_size_does_not_change_results_with_ranges(tmp_path: Path) -> None:
    """A range may contain everything and end last. Operators end within a batch here."""
    program = Program()
    stacks = [program.stack(f"a.py:{line} main") for line in (1, 2, 3)]
    inner = [op("x", at, at + 3, stack=stacks[at % 3]) for at in range(10, 500, 7)]
    program.run(op("epoch", 0, 1000, *inner, scope=7, stack=stacks[0]))
    results = []
    for rows in (1, 5, 1000):
        _, found = run(program.recording(tmp_path, rows))
        results.append([column.tolist() for column in found.rows.columns().values()])
    assert results[0] == results[1] == results[2]
    assert sum(found.rows.total_ns.tolist()) == (len(inner) - 1) * 4


def test_absurdly_deep_stacks_are_ignored(tmp_path: Path) -> None:
    parent = np.arange(-1, 3 * module.DEEPEST, dtype=np.int32)
    before, after = np.array([3 * module.DEEPEST, 5], np.int32), np.array([-1, 4], np.int32)
    common, left, right = module._divergence(parent, before, after)
    assert (common.tolist(), left.tolist(), right.tolist()) == ([-1, 4], [-1, 5], [-1, -1])


def test_time_in_which_operators_were_not_recorded_is_no_interval(tmp_path: Path) -> None:
    """Two windows: 0 to 100 and 500 to 600. 10 + 20 ns lie between operators, 400 ns are not known."""
    program = Program(start={"monotonic_ns": 0}, stop={"monotonic_ns": 1000})
    program.thread(1)
    stack = program.stack("a.py:9 <module>")
    times = ((10, 40), (50, 90), (510, 530), (550, 590))
    program.run(*(op("mm", start_ns, end_ns, stack=stack) for start_ns, end_ns in times))
    for window in ((0, 100), (500, 600)):
        program.row("operator_windows", *window)
    program.end_ns = 1000
    recording = program.recording(tmp_path)
    _, found = run(recording)
    assert (found.rows.count.tolist(), found.rows.total_ns.tolist()) == ([2], [30])
    losses: list[Losses] = []
    assert sum(len(batch) for batch in link(recording).operators(losses)) == 4
    assert any("recorded for 200 ns of 1.00 us" in str(row.reason[0]) for row in losses), losses
