"""The measuring process: reads a `Sweep` as JSON from standard input, prints a JSON line for each result."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from perfprobe.bench.ceilings import device, host
from perfprobe.bench.ceilings.case import KEY, Case
from perfprobe.bench.ceilings.sweep import Sweep
from perfprobe.bench.ceilings.timing import Timed, timed
from perfprobe.bench.clocks import Clock, DeviceClock, HostClock
from perfprobe.bench.memory import free_bytes
from perfprobe.support.errors import EnvironmentLack

_PART_OF_MEMORY = 4  # the largest footprint may take this part of the free memory
_LEAST_FAULTS = 16  # fewer do not give the cost of one


def main() -> None:
    """Measures and prints. What is missing on this machine is a line too; other errors are a traceback."""
    sweep = Sweep.of(json.load(sys.stdin))
    # Output of libraries must not mix with the lines of JSON.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        for row in rows(sweep):
            out.write(json.dumps(row) + "\n")
            out.flush()
    except EnvironmentLack as refusal:
        out.write(json.dumps({"lack": [refusal.what, refusal.where, refusal.remedy]}) + "\n")
    out.flush()
    os._exit(0)  # the threads of a gang never end


def rows(sweep: Sweep) -> Iterator[dict[str, Any]]:
    """Yields facts about the machine, a row for each case, and what is missing and why.

    "left_out" is a product too large for this machine; a smaller one of its dtype was measured.
    """
    end_s = time.monotonic() + sweep.seconds
    torch = _torch()
    if sweep.device == "cpu":
        clock: Clock = HostClock()
        sweep, less = _within(sweep, free_bytes())
        name, groups = platform.machine(), host.groups(torch, sweep)
        missing = [*less, *host.missing_peaks()]
    else:
        refusal = device.refusal(torch, sweep.device)
        if refusal is not None:
            raise refusal
        torch.cuda.set_device(sweep.device)
        clock = DeviceClock(torch.cuda, HostClock())
        sweep, missing = _within(sweep, device.memory_bytes(torch, sweep.device))
        name, groups = torch.cuda.get_device_name(sweep.device), device.groups(torch, sweep)
    cases = [case for at in range(len(groups)) for case in groups[(at + sweep.first) % len(groups)]]
    yield {"torch": str(torch.__version__), "name": name, "cases": len(cases)}
    yield from _Run(torch, sweep, clock, end_s).rows(cases)
    if sweep.device != "cpu":
        try:
            yield from device.own(torch)
        except EnvironmentLack as refusal:
            missing.append(("perfprobe's own kernels", f"{refusal.what}: {refusal.where}"))
    yield from ({"missing": [what, why]} for what, why in missing)


@dataclass
class _Run:
    torch: Any
    sweep: Sweep
    clock: Clock
    end_s: float
    # By family: time of a FLOP in the previous case.
    work_ns: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def rows(self, cases: list[Case]) -> Iterator[dict[str, Any]]:
        """Yields a row for each case, also for those that are left out."""
        for case in cases:
            if time.monotonic() > self.end_s:
                yield {"late": _key(case)}
                continue
            if self._is_too_long(case):
                yield {"left_out": _label(case)}
                continue
            self.torch.set_num_threads(case.threads)
            try:
                found = timed(case.make(), self.clock, self.sweep.case_s)
            except (RuntimeError, TypeError, AttributeError) as error:
                yield {"missing": [_label(case), f"torch rejected it: {str(error).splitlines()[0][:160]}"]}
                continue
            yield self._row(case, found)

    def _is_too_long(self, case: Case) -> bool:
        expected_s = case.work * self.work_ns.get(case.family, 0.0) / 1e9
        return expected_s > self.sweep.longest_s

    def _row(self, case: Case, found: Timed) -> dict[str, Any]:
        # A processor never exceeds its peak, so for a peak the fastest block counts.
        call_ns = found.best_ns if case.kind == "isa peak" else found.call_ns
        if case.work and found.starved:
            return {"missing": [_label(case), "the GPU waited for the host between the calls"]}
        rate = case.work / call_ns * 1e9 if case.work else found.host_ns
        if case.kind == "gemm":
            self.work_ns[case.family] = call_ns / case.work
        if case.kind == "page fault":
            fault_ns = self._fault_ns(found)
            if fault_ns is None:
                return {"missing": [_label(case), "fresh memory costs no page faults here"]}
            rate = fault_ns
        return {**_key(case), "rate": rate, "wall_s": found.wall_s, "cpu_s": found.cpu_s}

    def _fault_ns(self, fresh: Timed) -> float | None:
        """Returns the time of one page fault: filling fresh memory compared with filling the same again."""
        if fresh.faults < _LEAST_FAULTS:
            return None
        again = timed(host.recycled(self.torch), self.clock, self.sweep.case_s)
        return max(0.0, fresh.call_ns - again.call_ns) / fresh.faults


def _key(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in KEY}


def _label(case: Case) -> str:
    threads = f", {case.threads} thread{'' if case.threads == 1 else 's'}"
    return f"{case.kind} {case.dtype} {case.what}{threads}"


def _within(sweep: Sweep, memory_bytes: int) -> tuple[Sweep, list[tuple[str, str]]]:
    most_bytes = memory_bytes // _PART_OF_MEMORY
    kept = tuple(footprint for footprint in sweep.footprints if footprint <= most_bytes)
    if kept == sweep.footprints:
        return sweep, []
    if not kept:
        raise EnvironmentLack("too little memory is free", f"{memory_bytes >> 20} MiB", "end other programs")
    why = f"only {memory_bytes >> 20} MiB of memory are free"
    return replace(sweep, footprints=kept), [(f"footprints above {kept[-1] >> 20} MiB", why)]


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        remedy = "run perfprobe with the Python that has torch"
        raise EnvironmentLack("ceilings are measured through torch", str(error), remedy) from error


if __name__ == "__main__":
    main()
