"""The cost of tests by folder and of the most expensive files, printed at the end of a run.

CPU seconds are those of the process and of waited-for children. They are meaningful on a busy machine, where
wall seconds say more about neighbours. Seconds of several processes are added.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest

MOST_EXPENSIVE = 30


@dataclass
class Cost:
    """The cost of a file or folder: number of tests, wall and CPU seconds, with setup and teardown."""

    tests: int = 0
    wall_s: float = 0
    cpu_s: float = 0

    def add(self, other: Cost) -> None:
        """Adds the other's figures to this one."""
        self.tests += other.tests
        self.wall_s += other.wall_s
        self.cpu_s += other.cpu_s


def cpu_s() -> float:
    """CPU seconds that this process and its children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Seconds:
    """A pytest plugin: measures in the process that runs a test, and adds up in the one that reports."""

    def __init__(self) -> None:
        self._begun_s = 0.0
        self._files: defaultdict[str, Cost] = defaultdict(Cost)

    def pytest_runtest_logstart(self) -> None:
        """Called before a test's setup."""
        self._begun_s = cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        """Called after setup, call and teardown. The report carries the cost to the process that adds up."""
        report = yield
        now_s = cpu_s()
        report.cpu_s, self._begun_s = now_s - self._begun_s, now_s
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called for each of a test's three reports."""
        cost = Cost(report.when == "call", report.duration, getattr(report, "cpu_s", 0.0))
        self._files[report.nodeid.partition("::")[0]].add(cost)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints both tables, most expensive first."""
        if len(self._files) < 2:
            return
        folders: defaultdict[str, Cost] = defaultdict(Cost)
        for name, cost in self._files.items():
            folders[_folder_of(name)].add(cost)
            folders["all"].add(cost)
        for title, costs, most in (
            ("seconds by folder", folders, len(folders)),
            (f"{MOST_EXPENSIVE} most expensive files", self._files, MOST_EXPENSIVE),
        ):
            terminalreporter.write_sep("=", title)
            terminalreporter.write_line("   cpu s   wall s   tests")
            for name, cost in sorted(costs.items(), key=lambda item: -item[1].cpu_s)[:most]:
                terminalreporter.write_line(f"{cost.cpu_s:8.1f} {cost.wall_s:8.1f} {cost.tests:7}  {name}")


def _folder_of(file: str) -> str:
    """`tests/collect` for `tests/collect/autograd/test_lines.py`: at most two levels."""
    return "/".join(file.split("/")[:-1][:2])
