"""A signal that comes while perfprobe's own code runs reaches the program, and that code runs to its end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from perfprobe.collect.held_signals import around, undisturbed
from perfprobe.collect.launches import KernelNames
from perfprobe.tables import storage
from tests.collect.poisoned import send
from tests.collect.runs import POISONED, Outcome, poisoned, where

# What a handler raises: the default one, one of the program that raises what perfprobe would catch as its own
# error, or as an error of the system.
SIGNALS = {"SIGINT": "KeyboardInterrupt", "SIGALRM": "TimeoutError", "SIGUSR1": "Stop"}
HEAD = """
import os, signal, sys, traceback

class Stop(BaseException):
    pass

def alarm(number, frame):
    raise TimeoutError(number)

def stop(number, frame):
    raise Stop(number)

signal.signal(signal.SIGALRM, alarm)
signal.signal(signal.SIGUSR1, stop)

def seen(error):
    files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    print(type(error).__name__, not any("perfprobe" in file for file in files))

try:
    STATEMENT
    for _ in range(9):
        pass
except (KeyboardInterrupt, TimeoutError, Stop) as error:
    seen(error)
print("went on")
"""
# What runs: our function that gets the signal, the program's statement, options.
PLACES = {
    "import of threads": ("perfprobe.collect.cprofile.CallCounter._hook_threads", "import threading", ()),
    "start of a process": (
        "perfprobe.collect.started.Started._count",
        "os.waitpid(os.posix_spawn('/bin/true', ['true'], os.environ), 0)",
        (),
    ),
    "before a fork": ("perfprobe.collect.children._is_of_multiprocessing", "FORK", ()),
    "after a fork": ("perfprobe.collect.children._kind", "FORK", ()),
    "spawn": (
        "perfprobe.collect.children._handed_over",
        "import multiprocessing.util as u; words = [sys.executable, '-c', 'pass', '--multiprocessing-fork']; "
        "os.waitpid(u.spawnv_passfds(words[0], words, []), 0)",
        (),
    ),
    "import of torch": ("perfprobe.collect.operators.OperatorCollector._describe_torch", "import torch", ()),
    "a window of the profiler": (
        "perfprobe.collect.autograd.windows.Windows._close",
        "import torch\n    while True: torch.ones(2)",
        ("--operators", "autograd"),
    ),
    "a range": (
        "perfprobe.collect.autograd.hooks.OpenRanges._unwrap",
        "import torch\n    with torch.profiler.record_function('r'): pass",
        ("--operators", "autograd"),
    ),
    "the program's profiler": (
        "perfprobe.collect.autograd.windows.Windows.guest_arrives",
        "import torch\n    with torch.autograd.profiler.profile(): pass",
        ("--operators", "autograd"),
    ),
    "look for an optimizer": (
        "",
        """import torch
    class Kind(type(torch.optim.Optimizer)):
        @property
        def step(cls):
            signal.raise_signal(signal.SIGNAL)
            raise AttributeError
    class Mine(torch.optim.Optimizer, metaclass=Kind): pass
    list(torch.utils.data.DataLoader([1.0]))""",
        ("--steps", "0:5"),
    ),
}
FORK = "child = os.fork()\n    if not child: os._exit(0)\n    os.waitpid(child, 0)"


# An interrupt at each place, the other signals, whose handlers are the program's own, at every fourth.
@pytest.mark.parametrize(
    ("place", "name"),
    [(place, name) for at, place in enumerate(PLACES) for name in SIGNALS if name == "SIGINT" or at % 4 == 0],
)
def test_a_signal_reaches_the_program(place: str, name: str, tmp_path: Path) -> None:
    function, statement, options = PLACES[place]
    source = HEAD.replace("STATEMENT", statement.replace("FORK", FORK)).replace(
        "signal.SIGNAL", f"signal.{name}"
    )
    (tmp_path / "main.py").write_text(source)
    words = ["-q", "-o", "out.perfprobe", *options, "main.py"]
    outcome = poisoned(function or "os.path.relpath", name, words, tmp_path)
    assert (outcome.status, outcome.err) == (0, b"")
    is_unseen = place != "a range"  # its methods are Python's, which TorchScript can compile
    assert outcome.out.decode() == f"{SIGNALS[name]} {is_unseen}\nwent on\n"
    assert outcome.said == (where(tmp_path / "out.perfprobe"),)
    storage.read(tmp_path / "out.perfprobe")


@pytest.mark.parametrize(
    "place", ["perfprobe.session.Session._write_meta", "perfprobe.session.Session.begin"]
)
def test_a_signal_before_the_program_comes_at_its_first_line(place: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print('never')\n")
    outcome = poisoned(place, "SIGINT", ["-q", "-o", "out.perfprobe", "main.py"], tmp_path)
    assert (outcome.status, outcome.out) == (-signal.SIGINT, b"")
    lines = [line for line in outcome.err.decode().splitlines() if not line.startswith("    ")]  # no source
    assert [line.split(",")[0] for line in lines] == [
        "Traceback (most recent call last):",
        f'  File "{tmp_path / "main.py"}"',
        "KeyboardInterrupt",
    ]
    assert storage.read(tmp_path / "out.perfprobe").meta["stop"]["exit"] == "KeyboardInterrupt"


def test_an_interrupt_while_perfprobe_prepares_ends_it_without_a_traceback(
    tmp_path: Path,
) -> None:
    (tmp_path / "main.py").write_text("print('never')\n")
    outcome = poisoned("perfprobe.cli.run._about", "SIGINT", ["-o", "out.perfprobe", "main.py"], tmp_path)
    assert outcome == Outcome(-signal.SIGINT, b"", b"")
    assert not (tmp_path / "out.perfprobe").exists()


def test_handlers_of_the_program_do_not_run_while_the_report_is_made(tmp_path: Path) -> None:
    source = "import signal; signal.signal(signal.SIGALRM, lambda *_: print('handler', flush=True)); print(1)"
    (tmp_path / "main.py").write_text(source)
    words = ["-o", "out.perfprobe", "main.py"]
    outcome = poisoned("perfprobe.cli.after.ReportChild._run", "SIGALRM", words, tmp_path)
    assert (outcome.status, outcome.out) == (0, b"1\n")
    assert outcome.said[-1] == where(tmp_path / "out.perfprobe")


@pytest.fixture
def stopped() -> Iterator[list[str]]:
    """A handler of SIGUSR1 that notes the function that it interrupted, and raises."""
    found: list[str] = []

    def handler(_number: int, frame: FrameType | None) -> None:
        found.append("" if frame is None else frame.f_code.co_name)
        raise TimeoutError

    before = signal.signal(signal.SIGUSR1, handler)
    yield found
    signal.signal(signal.SIGUSR1, before)


def test_a_handler_runs_once_when_the_function_has_returned(stopped: list[str]) -> None:
    done: list[int] = []

    @undisturbed
    def ours() -> None:
        send("SIGUSR1")
        send("SIGUSR1")
        done.append(1)

    def program() -> None:
        ours()
        send("SIGWINCH")

    with pytest.raises(TimeoutError):
        program()
    assert (done, stopped) == ([1], ["program"])


def test_handlers_and_the_kernels_actions_are_as_before(stopped: list[str]) -> None:
    signal.siginterrupt(signal.SIGUSR1, False)
    before = [signal.getsignal(number) for number in range(1, signal.NSIG)]
    changed: list[Any] = []

    @undisturbed
    def ours() -> None:
        changed.append(signal.getsignal(signal.SIGUSR1))

    ours()
    assert changed != [before[signal.SIGUSR1 - 1]]
    assert [signal.getsignal(number) for number in range(1, signal.NSIG)] == before
    assert restarts()


def restarts() -> bool:
    """Whether a system call goes on after SIGUSR1: otherwise Python runs the handler, which raises."""
    reader, writer = os.pipe()
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        time.sleep(0.1)
        signal.pthread_kill(main, signal.SIGUSR1)
        time.sleep(0.1)
        os.write(writer, b"x")

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        found = os.read(reader, 1) == b"x"
        thread.join()
    except TimeoutError:
        thread.join()
        found = not select.select([reader], [], [], 0)[0]
    for end in (reader, writer):
        os.close(end)
    return found


def test_an_exception_of_ours_comes_first(stopped: list[str]) -> None:
    @undisturbed
    def ours() -> None:
        send("SIGUSR1")
        raise KeyError("own")

    def program() -> None:
        try:
            ours()
        except KeyError:
            send("SIGWINCH")

    with pytest.raises(TimeoutError) as caught:  # while the first one is handled
        program()
    assert isinstance(caught.value.__context__, KeyError)


def test_signals_reach_a_function_of_the_program_within_ours(stopped: list[str]) -> None:
    from perfprobe._core import released

    seen: list[str] = []

    def program() -> None:
        try:
            send("SIGUSR1")
        except TimeoutError:
            seen.append("caught")

    undisturbed(lambda: released(program))()
    assert (seen, stopped) == (["caught"], ["send"])


def test_steps_around_a_function_have_no_frame(stopped: list[str]) -> None:
    calls: list[object] = []

    def function(number: int) -> int:
        raise ValueError(number)

    def after(succeeded: bool, result: object, number: int) -> object:
        calls.append((succeeded, result, number))
        return 7

    hooked = around(function, before=calls.append, after=after)
    with pytest.raises(ValueError, match="3") as caught:
        hooked(3)
    assert [entry.name for entry in caught.traceback] == [
        "test_steps_around_a_function_have_no_frame",
        "function",
    ]
    assert calls == [3, (False, None, 3)]
    assert around(abs, after=after)(-2) == 7
    assert calls[2:] == [(True, 2, -2)]
    assert hooked.__name__ == "function"


def test_a_handler_that_the_program_sets_meanwhile_remains(stopped: list[str]) -> None:
    def mine(*_: object) -> None:
        """Of a finalizer, for example."""

    undisturbed(lambda: signal.signal(signal.SIGUSR1, mine))()
    assert signal.getsignal(signal.SIGUSR1) is mine


def test_other_threads_are_not_concerned(stopped: list[str]) -> None:
    handlers: list[object] = []
    note = undisturbed(lambda: handlers.append(signal.getsignal(signal.SIGUSR1)))
    thread = threading.Thread(target=note)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGUSR1)]


def test_a_child_that_another_thread_forks_has_the_programs_handlers(stopped: list[str]) -> None:
    handler = signal.getsignal(signal.SIGUSR1)
    statuses: list[int] = []

    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0 if signal.getsignal(signal.SIGUSR1) is handler else 1)
        statuses.append(os.waitpid(child, 0)[1])

    @undisturbed
    def ours() -> None:
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()

    ours()
    assert statuses == [0]


def test_a_signal_when_a_kernels_name_is_forgotten_is_not_lost(stopped: list[str]) -> None:
    class Names(dict[int, str]):
        def pop(self, *arguments: Any) -> Any:
            send("SIGUSR1")
            return super().pop(*arguments)

    class Kernel:
        pass

    names, kernels = KernelNames(), [Kernel()]
    names.by_id = Names()
    names.note(kernels[0], "k")

    def program(kernels: list[Kernel]) -> None:
        kernels.clear()
        send("SIGWINCH")

    with pytest.raises(TimeoutError):
        program(kernels)
    assert names.by_id == {}


def test_an_ignored_interrupt_stays_ignored_while_perfprobe_starts(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import signal; print(signal.getsignal(2) is signal.SIG_IGN)\n")
    words = [POISONED, "perfprobe.session", "Session._write_meta", "SIGINT", "-q", "-o", "out.perfprobe"]
    ended = subprocess.run(
        [sys.executable, *words, "main.py"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert (ended.returncode, ended.stdout) == (0, b"True\n")
