"""perfprobe's Python code runs in pending calls, and others may request one at the same time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from perfprobe.tables import storage
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings
from tests.collect.runs import finish, perfprobe, start

# Signals that a pending call waits, using a C function that does nothing.
ASK = """
import ctypes
nothing = ctypes.cast(ctypes.pythonapi.PyErr_CheckSignals, ctypes.c_void_p)
def ask():
    ctypes.pythonapi.Py_AddPendingCall(nothing, None)
"""

CALLBACK = (
    ASK
    + """
import sys
import time
from _lsprof import Profiler
from functools import partial
from perfprobe import native

recorder = native.core().Recorder("run.perfprobe")
seen = []

def nested():
    seen.append("nested")

def callback():
    ask()
    nested()
    return partial(seen.append, "last")

if sys.argv[1] == "profile":
    profiler = Profiler()
    profiler.enable()
else:
    sys.settrace(lambda *_: None)
recorder.call_later(0, callback)
while "last" not in seen:
    time.sleep(0.001)
if sys.argv[1] == "profile":
    profiler.disable()
    print([entry.code.co_name for entry in profiler.getstats() if hasattr(entry.code, "co_name")])
else:
    sys.settrace(None)
print(seen)
recorder.close()
"""
)

# Another thread requests pending calls continuously while windows are opened and closed.
PROGRAM = (
    ASK
    + """
import threading, time
import torch

torch.set_num_threads(1)
over = threading.Event()

def ask_again():
    while not over.is_set():
        ask()
        time.sleep(0.0001)

def work(x):
    return x * 2.0

thread = threading.Thread(target=ask_again)
thread.start()
x = torch.ones(8)
end = time.monotonic() + 2
while time.monotonic() < end:
    work(x)
over.set()
thread.join()
print("done")
"""
)


@pytest.mark.parametrize("hook", ["profile", "trace"])
def test_another_pending_call_causes_no_deadlock(hook: str, tmp_path: Path) -> None:
    outcome = finish(start(["-c", CALLBACK, hook], tmp_path), limit_s=30)
    names = b"[]\n" if hook == "profile" else b""  # the Python functions that a profiler sees
    assert (outcome.status, outcome.out, outcome.err) == (0, names + b"['nested', 'last']\n", b"")


def test_a_program_with_many_pending_calls_ends(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)
    words = ["-q", "-o", "run.perfprobe", "--operators", "autograd", "--python", "off", "main.py"]
    outcome = perfprobe(words, tmp_path, limit_s=60)
    assert (outcome.status, outcome.out) == (0, b"done\n")
    recording = storage.read(tmp_path / "run.perfprobe")
    assert recording.fact("autograd")["windows"] > 3
    # Frames belong to the program even in windows that were opened between its lines.
    functions = {recording[Strings][name] for name in recording[Frames].function.tolist()}
    assert "work" in functions
    assert not functions & {"tick", "_step", "_step_and_wait", "guarded"}


PLACES = """
import sys
import threading
from _lsprof import Profiler
from opcode import opname
from perfprobe import native

recorder = native.core().Recorder("run.perfprobe")
sys.setswitchinterval(1e-5)  # pending calls are looked for when the thread gets the lock back
places, over = [], []

def spin():
    while not over:
        pass

def callback():
    frame = sys._getframe(1)
    places.append(opname[frame.f_code.co_code[frame.f_lasti]])
    if len(places) < 300:  # none once the profiler is disabled: that one may be at a RESUME
        recorder.call_later(0, callback)

def work():
    pass

thread = threading.Thread(target=spin)
thread.start()
profiler = Profiler()
profiler.enable()
recorder.call_later(0, callback)
while len(places) < 300:
    work()
profiler.disable()
over.append(True)
thread.join()
recorder.close()
print("RESUME" in places)
"""


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="others tell of a call before they look")
def test_no_profile_function_is_set_before_a_pending_call_event(tmp_path: Path) -> None:
    """Otherwise its first event would be the call of a known frame: two calls, and one return."""
    outcome = finish(start(["-c", PLACES], tmp_path), limit_s=60)
    assert (outcome.status, outcome.out, outcome.err) == (0, b"False\n", b"")
