"""Runs many small programs of many kinds under perfprobe, beside busy loops: checks for crashes and hangs.

    python -m benchmarks.endurance [--runs 200] [--rounds 2] [--loops 4] [--at-once 4]
                                   [--programs fork,loader] [--options autograd,memory]

Faults of a profiler that reads other threads' memory appear once in hundreds of runs, and on overloaded
machines. Each run must end as the program does under plain python, with the same output, within LIMIT_S, and
leave a complete recording.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import TypeAlias

from benchmarks.harness import busy
from perfprobe.support.errors import InputError
from perfprobe.tables import storage

LIMIT_S = 120

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
        model = torch.nn.Linear(8, 1)
        optimizer = torch.optim.SGD(model.parameters())
        for epoch in range(2):
            for (batch,) in DataLoader(data, batch_size=16, num_workers=2):
                optimizer.zero_grad()
                model(batch).mean().backward()
                optimizer.step()
            print("epoch", epoch, flush=True)
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
    "fork": """
        import os, signal, sys, torch
        torch.set_num_threads(1)  # OpenMP's threads do not survive a fork
        x = torch.ones(64, 64)
        for number in range(6):
            child = os.fork()
            if child == 0:
                (x @ x).sum()
                if number == 4:
                    os.kill(os.getpid(), signal.SIGKILL)
                os._exit(number) if number % 2 else sys.exit(number)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            (x @ x).sum()
        sys.exit(3)
        """,
    "exceptions": """
        import atexit, sys, threading, torch
        def fails(at):
            try:
                torch.ones(2, 3) @ torch.ones(2, 3)
            except RuntimeError as error:
                raise ValueError(at) from error
        atexit.register(print, "the end")
        for at in range(300):
            try:
                fails(at)
            except ValueError as error:
                assert type(error.__cause__) is RuntimeError
        thread = threading.Thread(target=sys.exit, args=(9,))
        thread.start()
        thread.join()
        try:
            torch.ones(1).backward()
        finally:
            sys.exit(3)
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
OPTIONS = {
    "observer": ["--operators", "observer"],
    "autograd": ["--operators", "autograd"],
    "memory": ["--memory"],
    "native": ["--native"],
    "slow": ["--keep", "slow"],
    "steps": ["--steps", "2:10"],
}
Ended: TypeAlias = "subprocess.CompletedProcess[bytes]"
_RECORDING, _AS_PLAIN = "run.perfprobe", "as under python"


def main() -> int:
    """Run all programs; returns 1 if any run went wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance")
    parser.add_argument("--runs", type=int, default=200, help="runs with the options of `observer`")
    parser.add_argument(
        "--rounds", type=int, default=2, help="further runs of each program with each options"
    )
    parser.add_argument("--loops", type=int, default=4, help="busy loops beside")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--options", default=",".join(OPTIONS))
    given = parser.parse_args()
    names = given.programs.split(",")
    jobs = [(names[at % len(names)], "observer") for at in range(given.runs)]
    jobs += [(name, options) for options in given.options.split(",") for name in names * given.rounds]
    started_s = time.monotonic()
    plain = {name: _plain(name) for name in names}
    with busy(given.loops), ThreadPoolExecutor(given.at_once) as pool:
        outcomes = list(pool.map(lambda job: _outcome(job[0], job[1], plain[job[0]]), jobs))
    counts = Counter(zip((options for _, options in jobs), outcomes, strict=True))
    for (options, outcome), count in sorted(counts.items()):
        print(f"{' '.join(OPTIONS[options]):22} {count:4}  {outcome}")
    print(f"{len(jobs)} runs beside {given.loops} busy loops in {time.monotonic() - started_s:.0f} s")
    return 0 if set(outcomes) == {_AS_PLAIN} else 1


def _ended(name: str, recorded: list[str], folder: str) -> Ended | None:
    """Runs a program as under plain python, or recorded with these options; None if it hangs."""
    program = Path(folder) / f"{name}.py"
    program.write_text(dedent(PROGRAMS[name]))
    words = ["-m", "perfprobe", "-q", "-o", _RECORDING, *recorded] if recorded else []
    # In its own session, like the loops: see `harness.busy`.
    with subprocess.Popen(
        [sys.executable, *words, str(program)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            out, said = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its children too: one of them may be what hangs
            return None
    return subprocess.CompletedProcess(process.args, process.returncode, out, said)


def _outcome(name: str, options: str, plain: Ended) -> str:
    with tempfile.TemporaryDirectory() as folder:
        done = _ended(name, OPTIONS[options], folder)
        fault = "hangs" if done is None else _fault(done, plain, Path(folder) / _RECORDING)
        return f"{name}: {fault}" if fault else _AS_PLAIN


def _fault(done: Ended, plain: Ended, recording: Path) -> str:
    """What is wrong with a run; "" if nothing."""
    said = done.stderr.decode(errors="replace")
    if done.returncode != plain.returncode:
        return f"ends with {done.returncode}, not {plain.returncode}: {said[-300:]!r}"
    if done.stdout != plain.stdout:
        return f"prints {done.stdout[-300:]!r}, not {plain.stdout[-300:]!r}"
    if "fault in perfprobe" in said or "the report was not printed" in said or "was cut short" in said:
        return repr(said[-300:])
    try:
        return "" if storage.read(recording).complete else "the recording is not complete"
    except InputError as error:
        return str(error)


def _plain(name: str) -> Ended:
    with tempfile.TemporaryDirectory() as folder:
        ended = _ended(name, [], folder)
    if ended is None:
        raise SystemExit(f"{name} hangs under plain python")
    return ended


if __name__ == "__main__":
    sys.exit(main())
