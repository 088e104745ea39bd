"""What the rules about threads need, and what they find."""

from __future__ import annotations

from typing import NamedTuple

from perfprobe.support.frozen import frozen
from perfprobe.tables.processors import Processors
from perfprobe.tables.recording import Recording
from perfprobe.tables.teams import Teams, ThreadProblem, WorkerTeams
from perfprobe.tables.trace import Trace

# Threads waited for other threads of the program, or for others: a share of the wall time. Below it a
# change of settings is not worthwhile.
WAITED = 0.1
PART = 0.05  # a thread with a smaller share of what all threads did does not count


class Found(NamedTuple):
    """A row of `ThreadProblems`. frame: -1 if no line is known."""

    problem: ThreadProblem
    threads: int
    cost_ns: int
    frame: int = -1
    name: str = ""


@frozen
class Known:
    """The findings about threads. workers: the teams of DataLoader's workers, None if there are none."""

    trace: Trace
    processors: Processors
    teams: Teams
    workers: WorkerTeams | None

    @property
    def recording(self) -> Recording:
        """The recording of the trace."""
        return self.trace.recording

    @property
    def allowed(self) -> float:
        """Processors that the process may use; infinite if that is not known."""
        allowed = self.processors.allowed_cores
        return float("inf") if allowed is None else allowed

    @property
    def busiest_frame(self) -> int:
        """The line with most operator time on the busiest thread, -1 none."""
        busiest_lines = self.teams.busiest_lines
        return max(busiest_lines, key=lambda busiest: busiest.time_ns).frame if busiest_lines else -1
