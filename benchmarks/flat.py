"""Records steps of 1 ms for a long time and reads what the process holds: nothing may grow with the time.

    python -m benchmarks.flat [--seconds 900] [-- OPTIONS OF RUN]

Prints the memory, threads and descriptors of the program every 15 s, and the size of the recording.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from textwrap import dedent

_EVERY_S = 15
_PROGRAM = """
    import sys, time, torch
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    end, steps = time.monotonic() + float(sys.argv[1]), 0
    while time.monotonic() < end:
        begin = time.perf_counter()
        optimizer.zero_grad()
        model(torch.randn(16, 32)).square().mean().backward()
        optimizer.step()
        steps += 1
        time.sleep(max(0.0, 0.001 - (time.perf_counter() - begin)))
    print(steps, "steps")
    """


def main() -> int:
    """Returns the program's exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flat")
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("options", nargs="*", metavar="OPTION", help="of perfprobe run, after --")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program, recording = Path(folder) / "steps.py", Path(folder) / "run.perfprobe"
        program.write_text(dedent(_PROGRAM))
        options = ["-q", "-o", str(recording), *given.options]
        command = [sys.executable, "-m", "perfprobe", "run", *options, str(program), str(given.seconds)]
        with subprocess.Popen(command) as running:
            watch(running, recording)
    return running.returncode


def watch(running: subprocess.Popen[bytes], recording: Path) -> None:
    """Prints what the process holds until it ends."""
    begin_s = time.monotonic()
    print("seconds  anonymous KiB  threads  descriptors  recording KiB", flush=True)
    while True:
        try:
            running.wait(_EVERY_S)
            return
        except subprocess.TimeoutExpired:
            kib, threads, descriptors = held(running.pid)
            size_kib = recording.stat().st_size >> 10
            passed_s = time.monotonic() - begin_s
            print(f"{passed_s:7.0f} {kib:14} {threads:8} {descriptors:12} {size_kib:14}", flush=True)


def held(pid: int) -> tuple[int, int, int]:
    """Anonymous memory in KiB, threads and descriptors of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    known = dict(line.split(":", 1) for line in lines if ":" in line)
    descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    return int(known["RssAnon"].split()[0]), int(known["Threads"]), descriptors


if __name__ == "__main__":
    sys.exit(main())
