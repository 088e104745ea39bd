"""The cost of recording beside torch.profiler and the empty callback: Markdown tables, and all runs as JSON.

python -m benchmarks.overhead
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

import torch

from benchmarks.overhead import depth, disk, emission, gpu, idle, memory, process, region, truth

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # otherwise two lines on standard error for each session

PARTS = {
    "region": region.report,
    "depth": depth.report,
    "memory": memory.report,
    "emission": emission.report,
    "disk": disk.report,
    "process": process.report,
    "truth": truth.report,
    "idle": idle.report,
    "gpu": gpu.report,
}


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.overhead", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="measure only this (repeatable)")
    parser.add_argument("--pairs", type=int, default=11, help="number of pairs in one process")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of processes")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for the length of all measurements")
    parser.add_argument("--json", type=Path, default=Path("build/overhead.json"), metavar="FILE")
    return parser.parse_args()


def main() -> None:
    """Measure, print, and write the JSON file."""
    args = parse()
    measured: dict[str, object] = {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cores": len(os.sched_getaffinity(0)),
    }
    pairs = dict.fromkeys(PARTS, args.rounds) | {
        "region": args.pairs,
        "depth": args.pairs,
        "memory": args.pairs,
        "emission": args.pairs,
        "disk": 1,
    }
    with tempfile.TemporaryDirectory() as folder:
        for part in args.part or PARTS:
            measured[part] = PARTS[part](pairs[part], args.scale, Path(folder))
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    print(f"\nevery run: {args.json}", file=sys.stderr)


if __name__ == "__main__":
    main()
