"""Functions of many kinds in a real program. Operators are found under the function that called them."""

import sys

import pytest

from perfprobe.analyse.call_structure import leave_out
from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.findings import Totals
from perfprobe.tables.python import CallStructure, Origin
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.collect.runs import perfprobe
from tests.found import find

# Each operator is called in one place only, so that its name tells the place.
PROGRAM = """\
import asyncio
import functools
import threading

import torch

X = torch.ones(3, requires_grad=True)


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args).tan()
    return wrapper


@decorated
def plain(x):
    return x.sin()


def recursive(depth):
    X.detach().cos()
    if depth:
        recursive(depth - 1)
        recursive(depth - 1)


def ping(depth):
    X.detach().asin()
    if depth:
        pong(depth - 1)


def pong(depth):
    X.detach().acos()
    if depth:
        ping(depth - 1)


def generator(count):
    for _ in range(count):
        yield X.detach().exp()


def delegating(count):
    yield from generator(count)


async def inner():
    X.detach().log()
    await asyncio.sleep(0)
    X.detach().log()


async def outer():
    await inner()
    X.detach().sqrt()


class Callable:
    def __call__(self, x):
        return x.erf()

    @property
    def value(self):
        return X.detach().sinh()


def forward():
    return plain(X).sum()


def work():
    X.detach().cosh()


def main():
    torch.set_num_threads(1)
    plain(X)
    recursive(2)
    ping(3)
    for _ in generator(2):
        pass
    list(delegating(3))
    asyncio.run(outer())
    list(map(lambda x: x.detach().tanh(), [X, X]))
    sorted([2, 1, 3], key=lambda at: X.detach().atan()[0].item() * at)
    [X.detach().floor() for _ in range(4)]
    exec(compile("def made(x):\\n    return x.ceil()\\nmade(X.detach())", "<made>", "exec"), {"X": X})
    Callable()(X.detach())
    Callable().value
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    forward().backward()


main()
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, CallStructure]:
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "kinds.py").write_text(PROGRAM)
    outcome = perfprobe(["-q", "--python", "off", "-o", "made.perfprobe", "kinds.py"], folder)
    assert outcome.status == 0, outcome.err.decode()
    trace = link(storage.read(folder / "made.perfprobe"))
    found = find(trace, CallStructure)
    assert int(found[CallStructure].sites.self_ns.sum()) == found[Totals].self_ns
    return trace, found[CallStructure]


def function(trace: Trace, structure: CallStructure, code: int) -> str:
    """The last part of a function's name, because Python 3.10 has no qualified names here."""
    name = trace.recording[Strings][structure.python.code.function[code]] if code >= 0 else ""
    return name.rsplit(".", 1)[-1]


def test_each_operator_is_under_the_function_that_called_it(program: tuple[Trace, CallStructure]) -> None:
    trace, structure = program
    sites = structure.sites
    found: dict[str, tuple[str, int]] = {}
    for stack, name, calls in zip(
        sites.stack.tolist(), sites.name.tolist(), sites.calls.tolist(), strict=True
    ):
        where = function(trace, structure, int(structure.python.of_stack[stack]))
        operator = trace.recording[Strings][name].removeprefix("aten::")
        before = found.setdefault(operator, (where, 0))
        found[operator] = (where if where == before[0] else "several", before[1] + calls)
    listcomp = "main" if sys.version_info >= (3, 12) else "<listcomp>"
    expected = {
        "sin": ("plain", 2),
        "tan": ("wrapper", 2),
        "cos": ("several", 1 + 2 + 4 + 1),  # the last one is in SinBackward0, which is under plain
        "asin": ("ping", 2),
        "acos": ("pong", 2),
        "exp": ("generator", 5),
        "log": ("inner", 2),
        "sqrt": ("outer", 1),
        "tanh": ("<lambda>", 2),
        "atan": ("<lambda>", 3),
        "floor": (listcomp, 4),
        "ceil": ("made", 1),
        "erf": ("__call__", 1),
        "sinh": ("value", 1),
        "cosh": ("work", 1),
        "SinBackward0": ("plain", 1),
        "TanBackward0": ("wrapper", 1),
        "SumBackward0": ("forward", 1),
    }
    found = {
        name.removeprefix("autograd::engine::evaluate_function: "): where for name, where in found.items()
    }
    assert {name: found.get(name) for name in expected} == expected


def test_who_called_whom(program: tuple[Trace, CallStructure]) -> None:
    trace, structure = program
    pairs = zip(structure.calls.caller.tolist(), structure.calls.callee.tolist(), strict=True)
    edges = {
        (function(trace, structure, caller), function(trace, structure, callee)) for caller, callee in pairs
    }
    assert edges >= {
        ("", "<module>"),
        ("<module>", "main"),
        ("main", "wrapper"),
        ("forward", "wrapper"),
        ("wrapper", "plain"),
        ("main", "recursive"),
        ("recursive", "recursive"),
        ("ping", "pong"),
        ("pong", "ping"),
        ("main", "generator"),
        ("main", "delegating"),
        ("delegating", "generator"),
        ("outer", "inner"),
        ("main", "<lambda>"),
        ("<module>", "made"),
        ("main", "__call__"),
        ("main", "value"),
        ("run", "work"),
    }
    assert ("main", "plain") not in edges


def test_recursive_calls_count_once_in_totals(program: tuple[Trace, CallStructure]) -> None:
    trace, structure = program
    rows = structure.functions
    of = {function(trace, structure, code): at for at, code in enumerate(rows.code.tolist())}
    own, total = rows.operator_own_ns.tolist(), rows.operator_total_ns.tolist()
    assert own[of["recursive"]] == total[of["recursive"]] > 0
    assert total[of["ping"]] == own[of["ping"]] + own[of["pong"]]
    assert total[of["ping"]] > total[of["pong"]] > own[of["pong"]]
    assert total[of["wrapper"]] == own[of["wrapper"]] + own[of["plain"]]
    assert total[of["main"]] <= int(structure.sites.self_ns.sum())
    assert rows.backward_own_ns[of["plain"]] > 0
    assert rows.forward_own_ns[of["plain"]] > 0
    for name in ("own", "total"):
        phases = ("forward", "backward", "recompute", "other")
        parts = sum(getattr(rows, f"{phase}_{name}_ns") for phase in phases)
        assert (parts == getattr(rows, f"operator_{name}_ns")).all()


def test_folding_all_others_leaves_the_programs_functions(
    program: tuple[Trace, CallStructure],
) -> None:
    trace, structure = program
    found = leave_out(trace, structure, structure.python.code.origin != Origin.USER)
    names = {function(trace, structure, code) for code in found.functions.code.tolist()}
    assert {"main", "outer", "inner", "work"} <= names
    assert not names & {"run", "_bootstrap", "run_forever", "made"}
    pairs = zip(found.calls.caller.tolist(), found.calls.callee.tolist(), strict=True)
    edges = {
        (function(trace, structure, caller), function(trace, structure, callee)) for caller, callee in pairs
    }
    assert {("main", "outer"), ("outer", "inner"), ("", "work")} <= edges
