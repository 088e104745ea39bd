"""Wall and CPU time of complete and of killed recordings."""

from __future__ import annotations

from pathlib import Path

from perfprobe.merge import link
from perfprobe.tables.findings import Hotspots
from tests.build import Program, op
from tests.found import find


def test_wall_and_cpu_time(tmp_path: Path) -> None:
    def times(program: Program) -> tuple[int | None, int | None]:
        trace = link(program.recording(tmp_path))
        return find(trace, Hotspots).wall_ns, trace.cpu_ns

    start, stop = {"monotonic_ns": 100, "cpu_ns": 7}, {"monotonic_ns": 400, "cpu_ns": 57}
    assert times(Program(start=start, stop=stop)) == (300, 50)
    killed = Program(start=start)
    killed.progress += [(200, 8), (250, 30)]
    killed.end_ns = None
    assert times(killed) == (150, 23)
    killed.run(op("mm", 240, 290))  # after the last heartbeat
    assert times(killed) == (190, 23)
    full = Program(start=start)  # the disk: the last flushes and the stop are missing, the end is known
    full.progress.append((250, 30))
    full.end_ns = 5_000_000_100
    assert times(full) == (5_000_000_000, None)
    assert times(Program(stop=stop)) == (None, None)
