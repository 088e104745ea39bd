import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perfprobe.analyse.sampled import SampledOperators, in_program, waits
from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.python import Look, SampledStacks, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.strings import Strings
from tests.build import Op, Program, op
from tests.found import watched

ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"


def run(recording: Recording) -> SampledStacks:
    watcher = SampledOperators(recording)
    watched(link(recording), watcher)
    return watcher.result()


def times(recording: Recording, found: SampledStacks) -> dict[Any, tuple[int, int]]:
    """Looks and time by thread, innermost line, result of the look, and operator."""
    lines = [int(recording[Frames].line[frame]) for frame in recording[Stacks].frame]
    rows: dict[Any, tuple[int, int]] = {}
    for at in range(len(found)):
        row = {name: column[at].item() for name, column in found.columns().items()}
        line = lines[row["stack"]] if row["stack"] >= 0 else None
        key = (row["thread"], line, Look(row["look"]).name, recording[Strings][row["name"]])
        assert key not in rows or row["signature"] >= 0
        rows[key] = (row["looks"], row["time_ns"])
    return rows


def test_by_hand(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.thread(2)
    program.row("threads", 1001, 0, program.string(""))  # the first thread, as recorded by the sampler
    here = program.stack("a.py:5 f")
    program.run(
        op("linear", 10, 50, op("addmm", 20, 30), op("copy", 30, 32, stack=here)),
        op("range", 60, 90, op("mul", 65, 70), scope=7),
        op("add", 100, 110),
    )
    program.run(op("elsewhere", 0, 200), thread=1)
    looks: dict[int, str] = {
        5: "",
        10: "linear",
        15: "linear",
        20: "addmm",
        25: "addmm",
        31: "copy",
        40: "linear",
    }
    looks |= {55: "", 62: "", 67: "mul", 80: "", 105: "add", 111: "", 500: ""}
    before = 0
    for time_ns in looks:
        program.sample(before, time_ns, f"a.py:{time_ns} f", thread=2, looks=2)
        before = time_ns
    program.sample(500, 600, thread=2, look=Look.NO_PYTHON, stack=-1)
    recording = program.recording(tmp_path)
    found = run(recording)
    expected: dict[Any, Any] = {
        (2, time_ns, "READ", name): (2, time_ns - start_ns)
        for (time_ns, name), start_ns in zip(looks.items(), [0, *looks], strict=False)
    }
    assert times(recording, found) == {**expected, (2, None, "NO_PYTHON", ""): (1, 100)}
    assert set(found.cpu_ns.tolist()) == {-1}


def test_time_without_a_look_counts_for_the_previous_place(tmp_path: Path) -> None:
    """After a rest: a thread waited in an operator, and worked outside of it at the next look."""
    program = Program()
    program.thread(1)
    program.row("threads", 1001, 0, program.string(""))
    program.run(op("wait", 10, 300), op("add", 390, 410))
    program.sample(0, 100, "a.py:1 f", thread=1, looks=20)
    program.sample(100, 350, "a.py:1 f", thread=1, looks=0)
    program.sample(350, 400, "a.py:2 f", thread=1)
    recording = program.recording(tmp_path)
    assert times(recording, run(recording)) == {
        (1, 1, "READ", "wait"): (20, 350),
        (1, 2, "READ", "add"): (1, 50),
    }


def test_equal_rows_are_merged_with_their_known_cpu_time(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    small, same = program.signature("f32[2]"), program.signature("f32[2]", 7)
    forward = program.stack("a.py:5 f")
    engine = program.stack("a.py:9 main", ENGINE)
    program.run(
        op("mm", 0, 100, stack=forward, signature=small, sequence=0),
        op("mm", 100, 200, stack=forward, signature=same),
        op("MmBackward0", 300, 400, stack=engine, node_sequence=0, node_thread=1, scope=1),
    )
    for start_ns, cpu_ns in ((0, 40), (50, -1), (100, 2), (300, -1)):
        program.sample(start_ns, start_ns + 50, "a.py:7 f", cpu_ns=cpu_ns)
    found = run(program.recording(tmp_path))
    rows = sorted(zip(*(column.tolist() for column in found.columns().values()), strict=True), key=str)
    seven = program.stack("a.py:7 f")
    names = {name: program.string(name) for name in ("mm", "MmBackward0")}
    assert rows == sorted(
        [
            (0, seven, 0, names["mm"], -1, small, 1, 3, 150, 42, 150),
            (0, seven, 0, names["MmBackward0"], -1, -1, 2, 1, 50, -1, 50),
        ],
        key=str,
    )


def random_operators(rng: random.Random, program: Program, thread: int) -> list[Op]:
    """Nested operators and ranges with unique names. Some are very close together."""
    names = iter(range(100_000))

    def made(start_ns: int, end_ns: int, depth: int) -> list[Op]:
        cuts = sorted(rng.sample(range(start_ns, end_ns + 1), min(6, (end_ns - start_ns) // 4 * 2)))
        found = []
        for begin, end in zip(cuts[::2], cuts[1::2], strict=True):
            inside = made(begin, end, depth + 1) if depth < 5 and end - begin > 8 else []
            scope = 7 if rng.random() < 0.3 else 0
            found.append(op(f"{thread}.{next(names)}", begin, end, *inside, scope=scope))
        return found

    return [item for at in range(6) for item in made(at * 1000, at * 1000 + 900, 0)]


@pytest.mark.parametrize("batch_rows", [1, 2, 7, 50, 100_000])
@pytest.mark.parametrize("seed", range(3))
def test_against_a_slow_twin(
    tmp_path: Path, seed: int, batch_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    program = Program()
    samples = []
    for thread in range(3):
        program.thread(thread + 1)
    for thread in range(3):
        program.row("threads", 1001 + thread, 0, program.string("seen by the sampler"))
        program.run(*random_operators(rng, program, thread), thread=thread)
        for _ in range(150):
            line, time_ns = rng.randrange(1, 4), rng.randrange(-10, 6100)
            program.sample(time_ns - 7, time_ns, f"a.py:{line} f", thread=thread + 3)
            samples.append((thread, line, time_ns))
    interleave(rng, program)
    monkeypatch.setattr(storage, "BATCH_ROWS", batch_rows)
    recording = program.recording(tmp_path, min(batch_rows, 1000))
    expected: Counter[Any] = Counter()
    for thread, line, time_ns in samples:
        held = [
            row["name"]
            for row in program.operators  # in the order of their ends, so inner ones come first
            if row["thread"] == thread and row["scope"] != 7 and row["start_ns"] <= time_ns <= row["end_ns"]
        ]
        expected[thread + 3, line, "READ", recording[Strings][held[0]] if held else ""] += 1
    found = {key: looks for key, (looks, _) in times(recording, run(recording)).items()}
    assert found == expected
    assert len(found) > 100


def interleave(rng: random.Random, program: Program) -> None:
    """The operators of all threads mixed, as on disk. Those of each thread keep their order."""
    left = [[row for row in program.operators if row["thread"] == thread] for thread in range(3)]
    program.operators = []
    while any(left):
        chosen = rng.choice([part for part in left if part])
        program.operators += chosen[:20]
        del chosen[:20]


def test_operators_without_an_end_contain_no_samples(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(op("inner", 20, 30), depth=3)
    program.run(op("later", 50, 60))
    program.sample(0, 15, "a.py:1 f")
    program.sample(0, 25, "a.py:2 f")
    recording = program.recording(tmp_path)
    assert times(recording, run(recording)) == {
        (0, 1, "READ", ""): (1, 15),
        (0, 2, "READ", "inner"): (1, 25),
    }


def test_threads_without_a_number_are_distinguished(tmp_path: Path) -> None:
    program = Program()
    for _ in range(2):
        program.row("threads", 0, 0, program.string(""), anew=True)
    program.run(op("one", 0, 10))
    program.sample(0, 5, "a.py:1 f", thread=1)
    program.sample(0, 5, "a.py:1 f", thread=0)
    program.sample(0, 5, "a.py:1 f", thread=-7)
    recording = program.recording(tmp_path)
    assert times(recording, run(recording)) == {
        (0, 1, "READ", "one"): (1, 5),
        (1, 1, "READ", ""): (1, 5),
        (-1, 1, "READ", ""): (1, 5),
    }


def test_damaged_rows_do_no_harm(tmp_path: Path) -> None:
    rng = random.Random(4)
    values = [-(2**63), -(2**31), -1, 0, 1, 7, 2**31 - 1, 2**63 - 1]
    for number in range(20):
        program = Program()
        program.thread(1)
        for _ in range(30):
            depth = rng.choice([-(2**31), -1, 0, 1, 2, 2**31 - 1])
            program.run(op("x", rng.choice(values), rng.choice(values)), depth=depth)
            times_ns = rng.choice(values), rng.choice(values)
            program.sample(*times_ns, "a.py:1 f", thread=rng.choice([0, 5]), look=rng.choice([-1, 0, 9, 77]))
        folder = tmp_path / str(number)
        folder.mkdir()
        assert len(run(program.recording(folder, 7))) > 0


def test_only_time_within_the_program_counts(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.meta |= {"start": {"monotonic_ns": 1000}, "stop": {"monotonic_ns": 2000}}
    for start_ns, end_ns, cpu_ns in [(0, 900, 800), (900, 1100, 160), (1100, 1900, 5), (1900, 2900, -1)]:
        program.sample(start_ns, end_ns, "a.py:5 f", cpu_ns=cpu_ns)
    program.sample(0, 5000, "b.py:5 g", cpu_ns=2500)
    recording = program.recording(tmp_path)
    found = in_program(recording)
    assert (found.end_ns - found.start_ns).tolist() == [0, 100, 800, 100, 1000]
    assert found.cpu_ns.tolist() == [0, 80, 5, -1, 500]
    assert (found.start_ns >= 1000).all()
    assert (found.end_ns <= 2000).all()
    assert sorted(zip(run(recording).time_ns.tolist(), run(recording).cpu_ns.tolist(), strict=True)) == [
        (1000, 85),
        (1000, 500),
    ]


def test_python_called_by_autograd_is_in_no_operator(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    apply = "/env/site-packages/torch/autograd/function.py:585 Function.apply"
    stack = program.stack("a.py:6 f", ENGINE)
    forward = program.stack("a.py:5 f", apply)
    node = {"stack": stack, "node_thread": 1, "node_sequence": 0}
    row = "autograd::engine::evaluate_function: MulBackward0"
    program.run(
        op("Scale", 0, 100, op("aten::mul", 50, 60, stack=forward), stack=forward, sequence=0),
        op("ScaleBackward", 100, 200, scope=1, **node),
        op(row, 200, 300, op("MulBackward0", 250, 290, scope=1, **node), **node),
    )
    program.sample(0, 20, "a.py:5 f", apply, "a.py:20 forward")
    program.sample(20, 55, "a.py:5 f", apply)
    program.sample(55, 150, "a.py:6 f", ENGINE, "a.py:30 backward")
    program.sample(150, 220, "a.py:6 f", ENGINE, "a.py:40 hook")
    program.sample(220, 230, "a.py:6 f", ENGINE)
    program.sample(230, 260, "a.py:6 f", ENGINE)
    found = times(program.recording(tmp_path), run(program.recording(tmp_path)))
    assert {(line, name): time_ns for (_, line, _, name), (_, time_ns) in found.items()} == {
        (20, ""): 20,
        (585, "aten::mul"): 35,
        (30, ""): 95,
        (40, ""): 70,
        (841, row): 10,
        (841, "MulBackward0"): 30,
    }


@pytest.mark.parametrize("seed", range(20))
def test_waiting_that_does_not_fit_began_in_the_samples_before(seed: int, tmp_path: Path) -> None:
    drawn, program, ends_ns = random.Random(seed), Program(), {0: 0, 1: 0}
    lengths_ns: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    for thread in lengths_ns:
        program.thread(thread + 1)
    for _ in range(40):
        thread, length_ns, wait_ns = drawn.randrange(2), drawn.randrange(1, 10), drawn.choice([-1, 0, 12])
        begin_ns = ends_ns[thread]
        ends_ns[thread] += length_ns
        lengths_ns[thread].append((length_ns, max(wait_ns, 0)))
        program.sample(begin_ns, ends_ns[thread], "a.py:7 f", thread=thread, wait_ns=wait_ns)
    expected: dict[int, list[int]] = {0: [], 1: []}
    for thread, rows in lengths_ns.items():
        left_ns = 0
        for length_ns, wait_ns in reversed(rows):
            expected[thread].insert(0, min(left_ns + wait_ns, length_ns))
            left_ns += wait_ns - expected[thread][0]
    recording = program.recording(tmp_path)
    samples = recording[Samples]
    found_ns = waits(samples, recording.os_threads())
    for thread, times_ns in expected.items():
        assert found_ns[samples.thread == thread].tolist() == times_ns
