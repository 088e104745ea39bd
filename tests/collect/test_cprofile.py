from __future__ import annotations

import pstats
import sys
from collections import Counter
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from perfprobe.tables import storage
from perfprobe.tables.python import Calls, Functions
from perfprobe.tables.recording import Recording
from tests.collect.counted import (
    ENVIRONMENT,
    Counts,
    Edges,
    count,
    functions,
    our_edges,
    ours,
    plain,
    their_edges,
    theirs,
)
from tests.collect.runs import finish, start

# Functions of cProfile itself.
OWN = {("~", 0, "<method 'disable' of '_lsprof.Profiler' objects>")}
RUNS = ("~", 0, "<built-in method builtins.exec>")

MIXED = """
    import functools

    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    def numbers(n):
        for i in range(n):
            yield i

    def twice(function):
        @functools.wraps(function)
        def inner(*values):
            return function(*values) + function(*values)
        return inner

    @twice
    def work(n):
        return sum(numbers(n)) + len([x for x in range(n)])

    class Thing:
        def method(self):
            return (lambda: 3)()

        @property
        def value(self):
            return self.method()

    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    def fails():
        raise ValueError

    def main():
        factorial(10)
        work(5)
        Thing().value
        even(9)
        exec("def q(): return len('abc')\\nq(); q()")
        sorted([3, 1, 2], key=lambda v: -v)
        for _ in range(3):
            try:
                fails()
            except ValueError:
                pass
        next(numbers(4))
        list(map(str, [1, 2]))
        "a b".split()

    main()
    """

NUMPY = """
    import sys
    import numpy as np

    def normalised(rows):
        return (rows - rows.mean(axis=0)) / np.maximum(rows.std(axis=0), 1e-6)

    for _ in range(int(sys.argv[1])):
        found = np.linalg.norm(normalised(np.arange(12.0).reshape(4, 3)))
        np.concatenate([np.zeros(3), np.ones(2)]).sum()
    """

# Counted in one process, once by each: importing torch under a profiler takes longer than all else.
TORCH = """
    import cProfile
    import perfprobe
    import torch

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = torch.nn.Sequential(torch.nn.Embedding(20, 16), layer, torch.nn.Linear(16, 20))

    # By hand: the first step of torch's optimizers imports torch._dynamo, which takes as long as torch.
    @torch.no_grad()
    def update():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad
            parameter.grad = None

    def step(tokens):
        loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        update()

    def train(steps):
        for _ in range(steps):
            step(torch.randint(20, (2, 7)))

    train(2)
    with perfprobe.profile("run.perfprobe", operators="off", python="cprofile"):
        train(4)
    plain = cProfile.Profile()
    plain.enable()
    train(4)
    plain.disable()
    plain.dump_stats("run.pstats")
    """

THREADS = """
    import sys
    import threading

    def leaf(n):
        return len(range(n))

    def work(n):
        for _ in range(n):
            leaf(3)

    def all_at_once(n):
        threads = [threading.Thread(target=work, args=(n * (i + 1),)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    all_at_once(20)
    work(7)
    """


def written(folder: Path, source: str) -> str:
    (folder / "main.py").write_text(dedent(source))
    return "main.py"


def named(counts: Counts, file: str) -> dict[str, tuple[int, int]]:
    return {name: calls for (path, _, name), calls in counts.items() if path.endswith(file)}


def rows(recording: Recording) -> dict[str, int]:
    """The row of `functions` for each name."""
    return {name: row for row, (_, _, name) in enumerate(functions(recording))}


def grown(more: Edges, less: Edges) -> Edges:
    """What a longer run has called more than a shorter one, without imports, start and end.

    importlib.metadata depends on the times of folders, random draws again if a value does not fit. Functions generated
    by dataclasses have the same file, line and name; of those plain cProfile keeps the counts of the last one only.
    """
    moody = ("importlib/metadata/", "/random.py")

    both = Counter(more)
    both.subtract(less)
    return Counter(
        {
            edge: calls
            for edge, calls in both.items()
            if calls and edge[1][0] != "<string>"
            if not any(part in end[0] for part in moody for end in edge)
        }
    )


def test_counts_equal_those_of_plain_cprofile(tmp_path: Path) -> None:
    script = written(tmp_path, MIXED)
    outcome, recording = count(tmp_path, script)
    expected = theirs(plain(tmp_path, script))
    assert outcome.status == 0
    counted = ours(recording)
    calls, first_calls = expected[RUNS]
    expected[RUNS] = (calls - 1, first_calls)  # the call by which cProfile runs the program
    assert set(expected) - set(counted) == OWN
    assert {function: counted[function] for function in expected if function not in OWN} == {
        function: calls for function, calls in expected.items() if function not in OWN
    }
    assert set(counted) <= set(expected)


def test_counts_equal_those_by_hand(tmp_path: Path) -> None:
    _, recording = count(tmp_path, written(tmp_path, MIXED))
    counted = named(ours(recording), "main.py")
    assert counted["factorial"] == (10, 1)
    assert counted["even"] == (5, 1)
    assert counted["odd"] == (5, 1)
    closed = sys.version_info < (3, 13)  # closing runs it once more
    assert counted["numbers"] == (13 + closed, 13 + closed)
    assert counted["inner"] == (1, 1)
    assert counted["work"] == (2, 2)
    lambdas = [calls for (path, _, name), calls in ours(recording).items() if name.endswith("<lambda>")]
    assert sorted(lambdas) == [(1, 1), (3, 3)]  # in `method`, and the key of `sorted`
    assert counted["fails"] == (3, 3)
    assert counted["<module>"] == (1, 1)
    assert named(ours(recording), "<string>")["q"] == (2, 2)
    assert ours(recording)["~", 0, "<built-in method builtins.len>"] == (4, 4)


def test_calls_of_training_steps_are_those_of_plain_cprofile(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    outcome = finish(start([written(tmp_path, TORCH)], tmp_path, ENVIRONMENT))
    assert outcome.status == 0, outcome.err
    expected = their_edges(pstats.Stats(str(tmp_path / "run.pstats")))
    assert len(expected) > 100
    assert our_edges(storage.read(tmp_path / "run.perfprobe")) == expected


def test_calls_of_a_longer_run_grow_as_under_plain_cprofile(tmp_path: Path) -> None:
    script = written(tmp_path, NUMPY)
    runs = [count(tmp_path, script, times, name=times)[1] for times in ("0", "4")]
    stats = [plain(tmp_path, script, times, name=times) for times in ("0", "4")]
    expected = grown(their_edges(stats[1]), their_edges(stats[0]))
    assert len(expected) > 10
    assert grown(our_edges(runs[1]), our_edges(runs[0])) == expected


def test_c_functions_of_numpy_are_counted(tmp_path: Path) -> None:
    _, recording = count(tmp_path, written(tmp_path, NUMPY), "5")
    counted = ours(recording)
    assert counted["~", 0, "<method 'reshape' of 'numpy.ndarray' objects>"] == (5, 5)
    assert counted["~", 0, "<built-in method numpy.arange>"][0] >= 5


def test_each_thread_has_its_own_rows(tmp_path: Path) -> None:
    script = written(tmp_path, THREADS)
    _, recording = count(tmp_path, script)
    threads = set(recording[Functions].thread.tolist())
    leaves = sorted(named(ours(recording, thread=thread), "main.py")["leaf"][0] for thread in threads)
    assert leaves == [7, 20, 40, 60]
    assert recording.fact("cprofile", "threads") == 4
    # Plain cProfile only sees the main thread; from Python 3.12 on it sees all threads as one.
    main = recording[Functions].thread[rows(recording)["all_at_once"]]
    expected = named(theirs(plain(tmp_path, script)), "main.py")
    seen = int(main) if sys.version_info < (3, 12) else None
    assert named(ours(recording, thread=seen), "main.py") == expected


def test_times_add_up(tmp_path: Path) -> None:
    source = """
        import time

        def waits():
            time.sleep(0.05)

        def outer():
            waits()
            waits()

        outer()
        """
    _, recording = count(tmp_path, written(tmp_path, source))
    table = recording[Functions]
    row = rows(recording)
    assert table.total_ns[row["outer"]] >= 100_000_000
    assert table.own_ns[row["outer"]] < table.total_ns[row["waits"]]
    assert table.own_ns[row["<built-in method time.sleep>"]] >= 100_000_000
    assert np.all(table.own_ns <= table.total_ns)
    started, until = (recording.number("cprofile", key) for key in ("started_ns", "counted_until_ns"))
    assert started is not None
    assert until is not None
    assert int(table.own_ns.sum()) <= until - started
    calls = recording[Calls]
    to_sleep = calls.callee == row["<built-in method time.sleep>"]
    assert calls.caller[to_sleep].tolist() == [row["waits"]]
    assert calls.calls[to_sleep].tolist() == [2]


def test_functions_that_never_return_have_a_time(tmp_path: Path) -> None:
    source = """
        import sys, threading, time

        def for_ever():
            while True:
                time.sleep(0.01)

        threading.Thread(target=for_ever, daemon=True).start()
        time.sleep(0.1)
        sys.exit(5)
        """
    outcome, recording = count(tmp_path, written(tmp_path, source))
    assert outcome.status == 5
    table = recording[Functions]
    row = rows(recording)
    assert table.calls[row["for_ever"]] == 1
    assert table.total_ns[row["for_ever"]] >= 50_000_000
    assert table.total_ns[row["<module>"]] >= 0


def test_a_block_counts_only_calls_inside(tmp_path: Path) -> None:
    source = """
        import perfprobe

        def inside():
            return len("abc")

        def outside():
            return max(1, 2)

        outside()
        with perfprobe.profile("block.perfprobe", operators="off", python="cprofile"):
            for _ in range(4):
                inside()
        outside()
        """

    finish(start([written(tmp_path, source)], tmp_path))
    counted = ours(storage.read(tmp_path / "block.perfprobe"))
    assert {name: calls[0] for (_, _, name), calls in counted.items()} == {
        "inside": 4,
        "<built-in method builtins.len>": 4,
    }
