"""Reports on mutated real traces. Each must end with a report or an error of one line. The tests run a few.

More than 20 s of CPU time for one is a hang. At the end the longest are listed by number.

python -m tests.read.mutated FOLDER_OF_TRACES [COUNT] [SEED]
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from perfprobe.results import Results
from perfprobe.support.errors import PerfprobeError
from perfprobe.support.view import View
from tests.mutations.reading import in_time

BASES = ("mi300_triton_compile", "a100_event_sync", "a100_simple_add")
_VALUES: tuple[Any, ...] = (
    *(None, -1, 0, 1, 0.5, True, "", "x", "12", [], [1, 2, 3], [1e9, -1, "a"], {}, [[]]),
    *(1 << 31, 1 << 40, 1 << 62, -(1 << 63), 1e300, -1e300, "ProfilerStep#99999999999999", "nccl:all_reduce"),
    *("Optimizer.step#SGD.step", "nn.Module: Net_0", "kernel", "cpu_op", "python_function", "aten::zero_"),
)
_DEEP = 5_000  # brackets


def bases(folder: Path) -> list[dict[str, Any]]:
    """Returns the traces that are mutated, from this folder."""
    return [json.loads(gzip.decompress((folder / f"{name}.json.gz").read_bytes())) for name in BASES]


def mutated(base: dict[str, Any], rng: random.Random) -> bytes:
    """Returns the trace with entries changed, removed or deeply nested, and bytes cut or overwritten."""
    trace = copy.deepcopy(base)
    if rng.random() < 0.2:
        _spread(trace["traceEvents"], rng)
    for _ in range(rng.choice((1, 5, 40, 200))):
        event = rng.choice(trace["traceEvents"])
        facts = event.get("args")
        target = facts if isinstance(facts, dict) and facts and rng.random() < 0.5 else event
        if not target:
            continue
        key = rng.choice(list(target))
        if rng.random() < 0.15:
            del target[key]
        else:
            target[key] = rng.choice(_VALUES)
    return _harmed(bytearray(json.dumps(trace).encode()), rng)


def _harmed(data: bytearray, rng: random.Random) -> bytes:
    """Returns the bytes cut, overwritten, with many brackets, compressed, or as they are."""
    kind = rng.random()
    if kind < 0.1:
        data = data[: rng.randrange(len(data))]
    elif kind < 0.3:
        for _ in range(rng.choice((1, 10, 100))):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind < 0.33:
        at = rng.randrange(len(data))
        data[at:at] = b"[" * _DEEP
    whole = gzip.compress(data, 1) if kind > 0.8 else bytes(data)
    return whole[: rng.randrange(len(whole))] if kind > 0.95 else whole


def _spread(events: list[dict[str, Any]], rng: random.Random) -> None:
    """Makes one entry equal in all events that have it, or different in each."""
    one, value, way = rng.choice(events), rng.choice(_VALUES), rng.choice(("equal", "text", "number"))
    args = one.get("args") or {}
    of_args = bool(args) and rng.random() < 0.5
    key = rng.choice(list(args if of_args else one))
    for number, event in enumerate(events):
        target = event.get("args") if of_args else event
        if isinstance(target, dict) and key in target:
            target[key] = {"equal": value, "text": f"{value} {number}", "number": number}[way]


def outcome(path: Path) -> str:
    """Returns how a report ends: `report`, or the type of the error that is one line."""
    try:
        results = Results(str(path))
        results.text(View())
        results.document(View())
    except PerfprobeError as error:
        return "several lines" if "\n" in str(error) else type(error).__name__
    return "report"


def main() -> int:
    """Count outcomes; 1 if any was another error."""
    folder, count, seed = (
        Path(sys.argv[1]),
        int((sys.argv[2:] or ["3000"])[0]),
        int((sys.argv[3:] or ["1"])[0]),
    )
    warnings.simplefilter("error")
    rng, traces, seen = random.Random(seed), bases(folder), Counter[str]()
    took_s: list[tuple[float, int]] = []
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "trace.json"
        for number in range(count):
            path.write_bytes(mutated(rng.choice(traces), rng))
            began_s = time.process_time()
            try:
                with in_time():
                    seen[outcome(path)] += 1
            except Exception:  # the faults that this program looks for
                seen["error"] += 1
                print(number)
                traceback.print_exc(limit=-4)
            took_s.append((time.process_time() - began_s, number))
    print(dict(seen))
    print("longest:", ", ".join(f"{cpu_s:.2f} s of {number}" for cpu_s, number in sorted(took_s)[:-11:-1]))
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")
    return int(seen["error"] + seen["several lines"] > 0)


if __name__ == "__main__":
    sys.exit(main())
