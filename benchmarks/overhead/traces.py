"""Reading and reporting traces of torch.profiler, beside the TensorBoard plugin and HTA, in one run.

    python -m benchmarks.overhead.traces TRACE.json.gz --times 1 14 --peer PYTHON --peer PYTHON

A trace is made larger by repeating its events with later times and other ids. Each tool gets the same
uncompressed file in a process of its own: perfprobe makes its first screen, a peer what
`benchmarks/truth/export_figures.py` asks of it: times by kernel, steps, and its figures of the GPU.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.overhead.tables import markdown

_IDS = ("correlation", "External id", "external id", "Sequence number")
_APART_US = 1000.0
_IDS_OF_ONE = 1 << 24
_STEP = "ProfilerStep#"
_PEER = Path(__file__).parents[1] / "truth" / "export_figures.py"
_NAME = (
    "from importlib.metadata import distributions as d; names = {each.name: each.version for each in d()}; "
    "print(*(f'{n} {names[n]}' for n in ('torch-tb-profiler', 'HolisticTraceAnalysis') if n in names))"
)


class Cost(NamedTuple):
    """What a process took."""

    status: int
    cpu_s: float
    wall_s: float
    peak_mb: float


def repeated(trace: dict[str, Any], times: int) -> Iterator[dict[str, Any]]:
    """The events, repeated `times` times one after the other. Thread names and the whole span come once."""
    events = trace["traceEvents"]
    spans = [(event["ts"], event["dur"]) for event in events if event.get("ph") == "X"]
    length_us = max(ts + dur for ts, dur in spans) - min(ts for ts, _ in spans) + _APART_US
    for number in range(times):
        for event in events:
            if number == 0 or not (event.get("ph") == "M" or event.get("cat") == "Trace"):
                yield _moved(event, number, length_us)


def _moved(event: dict[str, Any], number: int, length_us: float) -> dict[str, Any]:
    if number == 0 or "ts" not in event:
        return event
    moved = {**event, "ts": event["ts"] + number * length_us}
    if type(event.get("id")) is int:
        moved["id"] = event["id"] + number * _IDS_OF_ONE
    if "args" in event:
        ids = {key: event["args"][key] for key in _IDS if type(event["args"].get(key)) is int}
        moved["args"] = event["args"] | {key: value + number * _IDS_OF_ONE for key, value in ids.items()}
    if str(event.get("name")).startswith(_STEP):
        moved["name"] = f"{_STEP}{int(event['name'][len(_STEP) :]) + number * 1000}"
    return moved


def write(source: Path, times: int, output: Path) -> tuple[int, int]:
    """Write the repeated trace; how many events and how many spans it has."""
    trace = json.loads(gzip.decompress(source.read_bytes()))
    events = spans = 0
    with output.open("w", encoding="utf-8") as file:
        about = {key: value for key, value in trace.items() if key != "traceEvents"}
        file.write(json.dumps({"schemaVersion": 1, **about})[:-1] + ', "traceEvents": [')
        for event in repeated(trace, times):
            file.write((",\n" if events else "\n") + json.dumps(event))
            events += 1
            spans += event.get("ph") == "X"
        file.write("\n]}")
    return events, spans


def named(peer: str) -> str:
    """The tool that this interpreter has, and its version."""
    found = subprocess.run([peer, "-c", _NAME], check=True, capture_output=True, text=True).stdout.strip()
    return found or peer


def cost(words: Sequence[str]) -> Cost:
    """Run a program and discard its output."""
    began = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(process.returncode, cpu_s, time.monotonic() - began, usage.ru_maxrss / 1024)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--times", type=int, nargs="+", default=[1, 14])
    parser.add_argument("--peer", action="append", default=[], metavar="PYTHON")
    args = parser.parse_args()
    peers = {named(peer): peer for peer in args.peer}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for times in args.times:
            path = Path(folder) / "trace.json"
            events, spans = write(args.trace, times, path)
            tools = {"perfprobe": [sys.executable, "-m", "perfprobe", "report", str(path)]}
            tools |= {name: [peer, str(_PEER), str(path)] for name, peer in peers.items()}
            for name, words in tools.items():
                took = cost(words)
                figures = [f"{took.cpu_s:.1f}", f"{took.wall_s:.1f}", f"{took.peak_mb:.0f}"]
                million = f"{took.cpu_s / events * 1e6:.1f}"
                rows.append([name, f"{events:,}", f"{spans:,}", *figures, million, str(took.status)])
    head = ["tool", "events", "spans", "CPU s", "wall s", "peak MB", "CPU s for 1 M events", "exit code"]
    print(markdown(head, rows))


if __name__ == "__main__":
    main()
