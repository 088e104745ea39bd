"""A signal that comes while perfprobe's own code runs reaches the program, and that code runs to its end."""

from __future__ import annotations

import _thread
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from types import FrameType
from typing import Any

import pytest

import perfprobe
from perfprobe import session
from perfprobe.collect.held_signals import around, undisturbed
from perfprobe.collect.launches import KernelNames
from perfprobe.tables import storage
from perfprobe.tables.base import Losses, Meta
from tests.collect.poisoned import send
from tests.collect.runs import Outcome, finish, start

POISONED = str(Path(__file__).with_name("poisoned.py"))
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
        "perfprobe.collect.children._changed",
        "import multiprocessing.spawn as s; s.get_command_line(tracker_fd=3, pipe_handle=4)",
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
        ("--operators", "observer"),
    ),
}
FORK = "child = os.fork()\n    if not child: os._exit(0)\n    os.waitpid(child, 0)"


def poisoned(place: str, name: str, words: list[str], folder: Path) -> Outcome:
    path, _, function = place.rpartition(".")
    if path.rpartition(".")[2][:1].isupper():
        path, _, kind = path.rpartition(".")
        function = f"{kind}.{function}"
    return finish(start([POISONED, path, function, name, *words], folder))


def losses(path: Path) -> list[str]:
    recording = storage.read(path)
    rows = recording[Losses]
    return [recording.string(int(reason)) for reason in rows.reason]


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("place", PLACES)
def test_a_signal_reaches_the_program(place: str, name: str, tmp_path: Path) -> None:
    function, statement, options = PLACES[place]
    source = HEAD.replace("STATEMENT", statement.replace("FORK", FORK)).replace("signal.SIGNAL", f"signal.{name}")
    (tmp_path / "main.py").write_text(source)
    words = ["-q", "-o", "out.perfprobe", *options, "main.py"]
    outcome = poisoned(function or "os.path.relpath", name, words, tmp_path)
    assert (outcome.status, outcome.err) == (0, b"")
    assert outcome.out.decode() == f"{SIGNALS[name]} True\nwent on\n"
    assert outcome.said == (f"perfprobe: the recording is {tmp_path / 'out.perfprobe'}",)
    storage.read(tmp_path / "out.perfprobe")
