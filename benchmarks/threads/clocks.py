"""Run time of each thread and of the process, compared with /proc and getrusage.

The program reads its own clocks, waits until the recorder has read them too, and ends: what runs in between
is the reading itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.overhead.tables import markdown
from perfprobe.tables.events import Threads
from perfprobe.tables.processors import ThreadTimes
from perfprobe.tables.storage import read

_PROGRAM = """
import hashlib, json, os, resource, threading, time
import torch

def files():
    found = {}
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/schedstat") as file:
            found[thread] = int(file.read().split()[0])
    return found

def compute():
    data = bytes(1_000_000)
    while time.thread_time() < 2:
        hashlib.sha256(data).digest()
    idle.wait()

idle = threading.Event()
other = threading.Thread(target=compute, daemon=True)
other.start()
a = torch.randn(900, 900)
while time.process_time() < 9:
    a @ a
time.sleep(1)
by_thread = files()
used = resource.getrusage(resource.RUSAGE_SELF)
moment_ns = time.monotonic_ns()
time.sleep(1)
print(json.dumps([by_thread, round((used.ru_utime + used.ru_stime) * 1e9), moment_ns]))
"""
_LEAST_NS = 100_000_000


def options(parser: argparse.ArgumentParser) -> None:
    """It has none."""


def run(given: argparse.Namespace) -> str:
    """A row for each thread that ran 0.1 s, and one for the sum of all."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.py").write_text(_PROGRAM)
        command = [sys.executable, "-m", "perfprobe", "run", "-q", "-o", "made.perfprobe", "program.py"]
        printed = subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
        recording = read(Path(folder) / "made.perfprobe")
    by_file, used_ns, moment_ns = json.loads(printed)
    times, threads = recording[ThreadTimes], recording[Threads]
    found = {}
    for number, file_ns in by_file.items():
        rows = times.take(threads.os_thread[times.thread] == int(number))
        # At most half a second of the thread's own time is between the readings; it slept then.
        run_ns = float(np.interp(moment_ns, rows.time_ns, rows.run_ns)) if len(rows) else 0.0
        found[number] = (run_ns, file_ns)
    table = [_row(number, *both) for number, both in found.items() if both[1] >= _LEAST_NS]
    table.append(_row("all, by getrusage", sum(both[0] for both in found.values()), used_ns))
    return markdown(["thread", "recorded", "kernel", "difference"], table)


def _row(name: str, recorded_ns: float, kernel_ns: int) -> list[str]:
    seconds = [f"{time_ns / 1e9:.3f} s" for time_ns in (recorded_ns, kernel_ns)]
    return [name, *seconds, f"{recorded_ns / kernel_ns - 1:+.2%}"]
