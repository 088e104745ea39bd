"""Runs many small programs of many kinds under perfprobe, beside busy loops: checks for crashes and hangs.

    python -m benchmarks.endurance [--runs 200] [--autograd 50] [--loops 4] [--at-once 4]

Faults of a profiler that reads other threads' memory appear once in hundreds of runs, and on overloaded
machines. Each run must end as the program does under plain python, within LIMIT_S, and leave a complete
recording.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

from benchmarks.harness import busy
from perfprobe.support.errors import InputError
from perfprobe.tables import storage

LIMIT_S = 180

PROGRAMS = {
    "training": """
        import torch
        from torch import nn
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(30):
            optimizer.zero_grad()
            model(torch.randn(4, 16, 32)).pow(2).mean().backward()
            optimizer.step()
        """,
    "loader": """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        data = TensorDataset(torch.randn(256, 8))
        for _ in range(2):
            for (batch,) in DataLoader(data, batch_size=16, num_workers=2):
                batch.sum().item()
        """,
    "threads": """
        import threading, time, torch
        def work(number):
            for at in range(60):
                (torch.randn(16, 16) @ torch.randn(16, 16)).sum()
                time.sleep(0.001 * (at % 3))
        for _ in range(3):
            threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        """,
    "generators": """
        import asyncio, torch
        def numbers(depth):
            if depth:
                yield from numbers(depth - 1)
            for number in range(20):
                yield number
        async def work(at):
            for _ in range(30):
                await asyncio.sleep(0.001)
                torch.add(torch.ones(2), sum(numbers(at)))
        async def main():
            await asyncio.gather(*(work(at) for at in range(20)))
        asyncio.run(main())
        """,
    "children": """
        import multiprocessing, subprocess, sys
        def work(number):
            import torch
            return torch.ones(number).sum().item()
        if __name__ == "__main__":
            subprocess.run([sys.executable, "-c", "1"], check=True)
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                assert pool.map(work, [1, 2, 3]) == [1.0, 2.0, 3.0]
        """,
    "recursion": """
        import sys, torch
        sys.setrecursionlimit(3000)
        def down(depth):
            if depth == 0:
                raise ValueError(torch.ones(1).item())
            try:
                down(depth - 1)
            finally:
                sorted(range(20), key=lambda number: -number)
        for _ in range(40):
            try:
                down(2000)
            except (ValueError, RecursionError):
                pass
        sys.exit(5)
        """,
    "tiny": """
        import torch
        x = torch.ones(1)
        for _ in range(60_000):
            x = x + 1
        """,
    "functions": """
        import torch
        from torch.utils.checkpoint import checkpoint
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x): return x * 2
            @staticmethod
            def backward(ctx, grad): return grad * 2
        x = torch.randn(8, 8, requires_grad=True)
        x.register_hook(lambda grad: grad.clone())
        for _ in range(150):
            checkpoint(lambda y: Scale.apply(y).relu(), x, use_reentrant=False).sum().backward()
        raise SystemExit("the end")
        """,
}
STATUS = {"recursion": 5, "functions": 1}


def main() -> int:
    """Run all programs; returns 1 if any run went wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--autograd", type=int, default=50, help="further runs, with --operators autograd")
    parser.add_argument("--loops", type=int, default=4, help="busy loops beside")
    parser.add_argument("--at-once", type=int, default=4)
    given = parser.parse_args()
    names = list(PROGRAMS)
    jobs = [(names[at % len(names)], "observer") for at in range(given.runs)]
    jobs += [(names[at % len(names)], "autograd") for at in range(given.autograd)]
    started_s = time.monotonic()
    with busy(given.loops), ThreadPoolExecutor(given.at_once) as pool:
        outcomes = list(pool.map(lambda job: _outcome(*job), jobs))
    counts = Counter(zip((operators for _, operators in jobs), outcomes, strict=True))
    for (operators, outcome), count in sorted(counts.items()):
        print(f"--operators {operators:10} {count:4}  {outcome}")
    print(f"{len(jobs)} runs beside {given.loops} busy loops in {time.monotonic() - started_s:.0f} s")
    return 0 if set(outcomes) == {"as under python"} else 1


def _outcome(name: str, operators: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / f"{name}.py"
        program.write_text(dedent(PROGRAMS[name]))
        words = ["-q", "--operators", operators, "-o", "run.perfprobe", str(program)]
        command = [sys.executable, "-m", "perfprobe", *words]
        try:
            # In its own session, like the loops: see `harness.busy`.
            done = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            return f"{name}: hangs"
        return _fault(name, done, Path(folder) / "run.perfprobe") or "as under python"


def _fault(name: str, done: subprocess.CompletedProcess[bytes], recording: Path) -> str:
    """What is wrong with a run; "" if nothing."""
    said = done.stderr.decode(errors="replace")
    if done.returncode != STATUS.get(name, 0):
        return f"{name}: ends with {done.returncode}: {said[-300:]!r}"
    if "fault in perfprobe" in said or "the report was not printed" in said or "was cut short" in said:
        return f"{name}: {said[-300:]!r}"
    try:
        return "" if storage.read(recording).complete else f"{name}: the recording is not complete"
    except InputError as error:
        return f"{name}: {error}"


if __name__ == "__main__":
    sys.exit(main())
