import random
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from perfprobe.analyse.callgraph import call_graph
from perfprobe.merge import link
from perfprobe.support.errors import InputError
from perfprobe.tables.callgraph import CallGraph
from perfprobe.tables.python import CallStructure
from perfprobe.tables.recording import Recording
from perfprobe.tables.spent import RunSpent
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.build import Program, op
from tests.found import find

OPEN = "<built-in method io.open>"

TORCH = "/env/site-packages/torch"
CALL = f"{TORCH}/nn/modules/module.py:1500/1499 Module._call_impl"
LINEAR = f"{TORCH}/nn/modules/linear.py:125/124 Linear.forward"
ENGINE = f"{TORCH}/autograd/graph.py:841/840 _engine_run_backward"
BACKWARD = f"{TORCH}/_tensor.py:600/590 Tensor.backward"
STEP = f"{TORCH}/optim/adam.py:230/214 Adam.step"
IMPORT = "<frozen-importlib._bootstrap>:1176/1170 _find_and_load"  # see `Importing`
MAIN, FORWARD = "p.py:12/10 main", "p.py:22/20 Net.forward"


class Graph:
    """A call graph by names."""

    def __init__(self, trace: Trace, structure: CallStructure, graph: CallGraph) -> None:
        strings, code = trace.recording[Strings], structure.python.code
        names = [strings[code.function[row]] for row in graph.functions.code.tolist()]
        columns = (graph.functions.own, graph.functions.total, graph.functions.calls)
        figures = zip(*(column.tolist() for column in columns), strict=True)
        self.functions = dict(zip(names, figures, strict=True))
        self.calls = {
            (names[caller], names[callee]): (total, calls)
            for caller, callee, calls, total in zip(
                *(column.tolist() for column in graph.calls.columns().values()), strict=True
            )
        }
        self.operators: Counter[tuple[str, str, bool]] = Counter()
        for caller, name, is_backward, total in zip(
            *(
                getattr(graph.operators, column).tolist()
                for column in ("caller", "name", "is_backward", "total")
            ),
            strict=True,
        ):
            self.operators[names[caller] if caller >= 0 else "", strings[name], is_backward] += total
        self.graph = graph

    def adds_up(self) -> bool:
        """Whether each total is the sum of the function's own time and of all functions below."""
        for function, (own, total, _) in self.functions.items():
            below = sum(part for (caller, _), (part, _) in self.calls.items() if caller == function)
            operators = sum(part for (caller, _, _), part in self.operators.items() if caller == function)
            if total != own + below + operators:
                return False
        return True


class Importing(Program):
    """A program whose file names may contain blanks."""

    def string(self, value: str) -> int:
        return super().string(value.replace("<frozen-", "<frozen "))


def drawn(
    recording: Recording, by: str | None = None, *, unfolded: bool = False, root: str | None = None
) -> Graph:
    found = find(link(recording), CallStructure, RunSpent)
    pattern = None if root is None else re.compile(root)
    return Graph(found.trace, found[CallStructure], call_graph(found, by, unfolded=unfolded, root=pattern))


def training() -> Program:
    """Operators of a step: 100 and 20 ns in forward, 200 in backward, 30 + 10 + 10 + 10 in the optimizer."""
    program = Program(start={"monotonic_ns": 0}, stop={"monotonic_ns": 1000}, program={"pid": 1001})
    program.thread(1)
    forward = program.stack(MAIN, CALL, FORWARD)
    linear = program.stack(MAIN, CALL, FORWARD, CALL, LINEAR)
    engine = program.stack(MAIN, BACKWARD, ENGINE)
    step = program.stack(MAIN, STEP)
    program.run(
        op("aten::addmm", 0, 100, stack=linear, sequence=0),
        op("aten::relu", 100, 120, stack=forward, sequence=1),
        op("aten::mm", 200, 400, stack=engine, node_sequence=0, node_thread=1),
        op("aten::mul_", 500, 530, stack=step),
        op("aten::add_", 530, 540, stack=step),
        op("aten::sqrt", 540, 550, stack=step),
        op("aten::div_", 550, 560, stack=step),
    )
    return program


def test_operators_hang_under_the_functions_that_called_them(tmp_path: Path) -> None:
    found = drawn(training().recording(tmp_path), "operator")
    assert found.graph.whole == 380
    assert found.functions == {
        "main": (0, 380, -1),
        "Net.forward": (0, 320, -1),
        "Adam.step": (0, 60, -1),
    }
    assert found.calls == {("main", "Net.forward"): (320, -1), ("main", "Adam.step"): (60, -1)}
    assert found.operators == {
        ("Net.forward", "aten::addmm", False): 100,
        ("Net.forward", "aten::relu", False): 20,
        ("Net.forward", "aten::mm", True): 200,
        ("Adam.step", "aten::mul_", False): 30,
        ("Adam.step", "aten::add_", False): 10,
        ("Adam.step", "aten::sqrt", False): 10,
        ("Adam.step", "aten::div_", False): 10,
    }
    assert found.adds_up()
    assert found.graph.folded == 2  # _call_impl and Linear.forward; backward() is empty without its operators


def test_library_functions_are_shown_on_request(tmp_path: Path) -> None:
    found = drawn(training().recording(tmp_path), "operator", unfolded=True)
    assert found.functions["Linear.forward"] == (0, 300, -1)
    assert found.functions["Module._call_impl"] == (0, 320, -1)  # nested in itself, counted once
    assert found.operators["Linear.forward", "aten::mm", True] == 200
    assert found.graph.folded == 0


def test_edges_can_be_weighted_by_calls(tmp_path: Path) -> None:
    found = drawn(training().recording(tmp_path), "calls")
    assert found.graph.whole == 7
    assert found.functions["Net.forward"] == (0, 3, -1)


def test_samples_divide_the_time_between_operators(tmp_path: Path) -> None:
    program = training()
    program.sample(0, 50, MAIN, CALL, FORWARD, CALL, LINEAR)  # in addmm
    program.sample(50, 115, MAIN, CALL, FORWARD)  # in relu
    program.sample(115, 170, MAIN, CALL, FORWARD)  # in nothing
    program.sample(170, 180, MAIN, CALL)  # in nothing
    program.sample(180, 300, MAIN, BACKWARD, ENGINE)  # in mm
    program.sample(300, 450, MAIN, BACKWARD, ENGINE)  # in nothing
    program.sample(450, 560, MAIN, STEP)  # in div_
    main = program.counted("p.py:10 main", 1, 0, 0)
    call = program.counted(f"{TORCH}/nn/modules/module.py:1499 Module._call_impl", 9, 0, 0)
    forward = program.counted("p.py:20 Net.forward", 4, 0, 0)
    backward = program.counted(f"{TORCH}/_tensor.py:590 Tensor.backward", 3, 0, 0)
    program.call(main, call, 4, 0, 0)
    program.call(call, forward, 4, 0, 0)
    program.call(main, backward, 3, 0, 0)
    found = drawn(program.recording(tmp_path))
    assert found.graph.by == "time"
    assert found.graph.whole == 560  # operators took 380: samples of 215 stand for 180
    # The time of _call_impl counts for main. Tensor.backward includes the time there outside of operators.
    assert found.functions == {
        "main": (8, 560, 1),
        "Net.forward": (46, 366, 4),
        "Tensor.backward": (0, 126, 3),
        "_engine_run_backward": (126, 126, -1),
        "Adam.step": (0, 60, -1),
    }
    assert found.calls["main", "Net.forward"] == (366, 4)  # through _call_impl, but nobody else called it
    assert found.calls["main", "Tensor.backward"] == (126, 3)
    assert found.operators["Net.forward", "aten::addmm", False] == 100
    assert found.operators["Net.forward", "aten::relu", False] == 20
    assert found.operators["Net.forward", "aten::mm", True] == 200
    assert found.adds_up()


def test_calls_through_hidden_functions_are_known_if_there_is_one_caller(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    inner = "p.py:30 inner"
    for caller in (MAIN, FORWARD):
        program.sample(0, 50, caller, CALL, inner)
    rows = [
        program.counted(place, 5, 0, 0) for place in ("p.py:10 main", "p.py:20 Net.forward", "p.py:30 inner")
    ]
    call = program.counted(f"{TORCH}/nn/modules/module.py:1499 Module._call_impl", 9, 0, 0)
    program.call(rows[0], call, 4, 0, 0)
    program.call(rows[1], call, 5, 0, 0)
    program.call(call, rows[2], 9, 0, 0)
    found = drawn(program.recording(tmp_path))
    assert found.calls == {("main", "inner"): (50, -1), ("Net.forward", "inner"): (50, -1)}


def test_other_threads_count_while_they_run(tmp_path: Path) -> None:
    program = Program(program={"pid": 1001})
    program.thread(1)
    program.thread(2)
    wait = "/usr/lib/python3.11/threading.py:327/288 Condition.wait"
    program.sample(0, 100, MAIN, wait, cpu_ns=0)
    program.sample(0, 70, "p.py:40 worker", cpu_ns=60, thread=1)
    program.sample(70, 100, "p.py:40 worker", wait, cpu_ns=1, thread=1)
    found = drawn(program.recording(tmp_path))
    assert found.graph.whole == 170
    assert found.graph.waiting_ns == 30
    assert found.functions["Condition.wait"] == (100, 100, -1)  # the main thread's is part of the wall time
    assert found.functions["worker"] == (70, 70, -1)


def test_importing_a_library_is_one_function(tmp_path: Path) -> None:
    program = Importing()
    program.thread(1)
    package, part = f"{TORCH}/__init__.py:900/1 <module>", f"{TORCH}/part.py:9/1 <module>"
    registered = f"{TORCH}/ops.py:9/8 register"
    program.sample(0, 10, "p.py:1 <module>", IMPORT)
    program.sample(10, 40, "p.py:1 <module>", IMPORT, package)
    program.sample(40, 90, "p.py:1 <module>", IMPORT, package, IMPORT, part, registered)
    program.sample(90, 100, "p.py:1 <module>", IMPORT, "other.py:3/1 <module>", registered)
    found = drawn(program.recording(tmp_path))
    functions = found.graph.functions
    assert sorted(zip(functions.total.tolist(), functions.own.tolist(), strict=True)) == [
        (10, 0),  # other.py, a module of the program
        (10, 10),  # register, called by that module
        (80, 80),  # torch, with everything that it imports
        (100, 10),  # p.py, including the search for torch
    ]
    assert found.functions["register"] == (10, 10, -1)


def test_counts_by_cprofile_without_samples(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    main = program.counted("p.py:10 main", 1, 100, 1000)
    step = program.counted("p.py:20 step", 3, 400, 900)
    read = program.counted(OPEN, 6, 500, 500)
    program.call(main, step, 3, 400, 900)
    program.call(step, read, 6, 500, 500)
    found = drawn(program.recording(tmp_path))
    assert not found.graph.by_samples
    assert found.graph.whole == 1000
    assert found.functions == {
        "main": (100, 1000, 1),
        "step": (400, 900, 3),
        OPEN: (500, 500, 6),
    }
    assert found.calls == {
        ("main", "step"): (900, 3),
        ("step", OPEN): (500, 6),
    }
    assert found.adds_up()


def test_counts_by_cprofile_exclude_imports(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    strings = {
        "<module>": "p.py:1 <module>",
        "main": "p.py:10 main",
        "torch": f"{TORCH}/__init__.py:1 <module>",
    }
    strings |= {"register": f"{TORCH}/ops.py:8 register", "step": f"{TORCH}/optim/adam.py:214 step"}
    rows = {name: program.counted(place, 1, 100, 100) for name, place in strings.items()}
    frozen = program.string("<frozen importlib._bootstrap>")
    rows["find"] = program.counted("a:1170 _find_and_load", 2, 100, 350, file=frozen)
    rows["exec"] = program.counted("<built-in method builtins.exec>", 2, 100, 900)
    for caller, callee in (
        ("exec", "<module>"),
        ("<module>", "find"),
        ("find", "exec"),
        ("exec", "torch"),
        ("torch", "register"),
        ("<module>", "main"),
        ("main", "step"),
    ):
        program.call(rows[caller], rows[callee], 1, 100, 100)
    found = drawn(program.recording(tmp_path))
    assert set(found.functions) == {"<module>", "main", "step"}
    assert found.graph.imports_ns == 350
    assert found.graph.whole == 700
    assert len(drawn(program.recording(tmp_path), unfolded=True).graph.functions) == 7


def test_a_root_that_is_left_out_is_shown(tmp_path: Path) -> None:
    found = drawn(training().recording(tmp_path), "operator", root="Linear")
    assert found.functions == {"Linear.forward": (0, 300, -1)}
    assert found.graph.whole == 300
    assert drawn(training().recording(tmp_path), "operator", root="nothing").graph.whole == 380


def test_lines_of_operators(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    for at, place in enumerate(("p.py:12/10 main", "p.py:13/10 main", "p.py:12/10 main")):
        program.run(op("aten::mm", 100 * at, 100 * at + 10 + at, stack=program.stack(place)))
    recording = program.recording(tmp_path)
    graph, frames = drawn(recording, "operator").graph, recording[Frames]
    rows = zip(frames.line[graph.operators.frame].tolist(), graph.operators.total.tolist(), strict=True)
    assert [*rows] == [(12, 22), (13, 11)]


def test_missing_sources_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Python functions were recorded"):
        drawn(training().recording(tmp_path), "time")
    program = Program()
    program.thread(1)
    program.sample(0, 50, MAIN)
    for by in ("operator", "calls"):
        with pytest.raises(InputError, match="no operators were recorded"):
            drawn(program.recording(tmp_path), by)


@pytest.mark.parametrize("root", [None, "f[23]$"])
@pytest.mark.parametrize("seed", range(5))
def test_sums_equal_those_over_single_stacks(tmp_path: Path, seed: int, root: str | None) -> None:
    rng = random.Random(seed)
    program = Program()
    program.thread(1)
    total: Counter[str] = Counter()
    calls: Counter[tuple[str, str]] = Counter()
    operators: Counter[tuple[str, str, bool]] = Counter()
    time_ns = 0
    for _ in range(200):
        path = [f"f{rng.randrange(6)}" for _ in range(rng.randrange(1, 9))]
        stack = program.stack(*(f"p.py:{name[1:]}{rng.randrange(2)}/{name[1:]}0 {name}" for name in path))
        took_ns, name = rng.randrange(1, 50), f"aten::{rng.choice('abc')}"
        program.run(op(name, time_ns, time_ns + took_ns, stack=stack))
        time_ns += 100
        if root is not None:  # what counts is the path from the first of them on
            path = path[next((at for at, name in enumerate(path) if re.search(root, name)), len(path)) :]
        if not path:
            continue
        total.update(dict.fromkeys(path, took_ns))
        calls.update(dict.fromkeys(pairwise(path), took_ns))
        operators[path[-1], name, False] += took_ns
    found = drawn(program.recording(tmp_path), "operator", root=root)
    assert {name: figures[1] for name, figures in found.functions.items()} == total
    assert {pair: figures[0] for pair, figures in found.calls.items()} == calls
    assert found.operators == operators
    assert found.graph.whole == sum(operators.values())


def test_gpu_time_counts_where_kernels_were_launched(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    launching, idle = (
        program.stack(MAIN, f"p.py:{line}/{line} {name}") for line, name in ((30, "a"), (40, "b"))
    )
    program.run(
        op("aten::linear", 0, 100, op("aten::mm", 10, 60, stack=launching), stack=launching),
        op("aten::add", 100, 300, stack=idle),
    )
    for at, (start_ns, correlation) in enumerate(((20, 1), (70, 2), (2_000, 3))):
        program.api_call("cudaLaunchKernel", start_ns, start_ns + 5, correlation)
        program.kernel("k", 1_000 * at, 1_000 * at + 500, correlation)
    found = drawn(program.recording(tmp_path), "gpu")
    assert found.graph.whole == 1_000
    assert found.functions == {"main": (0, 1_000, -1), "a": (0, 1_000, -1)}
    assert dict(found.operators) == {("a", "aten::mm", False): 500, ("a", "aten::linear", False): 500}
    with pytest.raises(InputError, match="no operator is known to have used a GPU"):
        drawn(training().recording(tmp_path), "gpu")
