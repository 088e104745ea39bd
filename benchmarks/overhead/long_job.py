"""What `--keep slow` adds to a long job: memory, and bytes on disk, for many short steps.

python -m benchmarks.overhead.long_job [--steps 20000] [--killed]

The program runs plain and recorded. It prints its resident memory after each tenth of its steps. Bytes of
the recording are read at the same moments, so that growth behind the first slow steps can be told. With
--killed the recorded program ends with SIGKILL, and the report must read what it left.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

PROGRAM = """
import os, signal, sys, time
import torch
from torch.utils.data import DataLoader

STEPS, IS_KILLED = int(sys.argv[1]), sys.argv[2] == "killed"
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
begun = time.monotonic()
for number, batch in enumerate(DataLoader(torch.rand(1, 32, 64).expand(STEPS, 32, 64), batch_size=None)):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    if number % 400 == 399:
        for _ in range(400):
            batch = batch.sin()
    loss.backward()
    optimizer.step()
    if (number + 1) % (STEPS // 10) == 0:
        with open("/proc/self/status") as file:
            kib = next(line.split()[1] for line in file if line.startswith("RssAnon"))
        print(time.monotonic() - begun, kib, flush=True)
if IS_KILLED:
    os.kill(os.getpid(), signal.SIGKILL)
"""
DAY_S = 86_400


class Moment(NamedTuple):
    """After a tenth of the steps: time since the loop began, resident memory, bytes of the recording."""

    time_s: float
    resident_kib: int
    file_bytes: int


def run(folder: Path, steps: int, options: list[str] | None, ending: str) -> list[Moment]:
    """The program, plain (options is None) or recorded with them."""
    script, recording = folder / "job.py", folder / "job.perfprobe"
    script.write_text(PROGRAM)
    ours = [] if options is None else ["-m", "perfprobe", "run", "-q", *options, "-o", str(recording)]
    words = [sys.executable, *ours, str(script), str(steps), ending]
    moments = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        for line in program.stdout:
            time_s, kib = line.split()
            size_bytes = sum(path.stat().st_size for path in folder.glob("job*.perfprobe"))
            moments.append(Moment(float(time_s), int(kib), size_bytes))
    return moments


def main() -> None:
    """Prints the memory that was added, and bytes on disk at each moment and each day."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead.long_job")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--killed", action="store_true", help="end the recorded program with SIGKILL")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = run(folder, given.steps, None, "ends")
        kept = run(folder, given.steps, ["--keep", "slow"], "killed" if given.killed else "ends")
        for own, other in zip(kept, plain, strict=True):
            added_mib = (own.resident_kib - other.resident_kib) / 1024
            print(
                f"{own.time_s:6.1f} s (plain {other.time_s:.1f}): {added_mib:+.1f} MiB of memory, "
                f"{own.file_bytes / 1e6:.2f} MB on disk"
            )
        half, last = kept[len(kept) // 2 - 1], kept[-1]
        rate = (last.file_bytes - half.file_bytes) / (last.time_s - half.time_s)
        day_mb = (last.file_bytes + rate * DAY_S) / 1e6
        print(f"second half: {rate:,.0f} bytes a second; if it went on so, {day_mb:,.0f} MB a day")
        words = [sys.executable, "-m", "perfprobe", "report", str(folder / "job.perfprobe")]
        print(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
