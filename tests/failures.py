"""A pytest plugin that writes which tests failed: `-p tests.failures --failures FILE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest


class Failure(NamedTuple):
    """A test that failed.

    Attributes:
        test: pytest's id of it.
        name: what counts as one: the test, or the set-up of its file, which fails once for many tests.
        cause: the first line of the message.
    """

    test: str
    name: str
    cause: str


def read(path: Path) -> list[Failure]:
    """The failures that a run wrote."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [Failure(*json.loads(line)) for line in text.splitlines()]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Called by pytest."""
    parser.addoption("--failures", type=Path, metavar="FILE", help="write there which tests failed")


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that reports writes, not those of pytest-xdist."""
    path = config.getoption("failures")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Written(path))


class _Written:
    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called for each of a test's three reports, and once, with no `when`, if its process crashed."""
        file = report.nodeid.partition("::")[0]
        self._write(report, f"{file} set-up" if report.when == "setup" else report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Called for each file and folder."""
        self._write(report, report.nodeid)

    def _write(self, report: pytest.TestReport | pytest.CollectReport, name: str) -> None:
        if report.failed:
            with open(self._path, "a", encoding="utf-8") as written:
                written.write(json.dumps([report.nodeid, name, _cause(report)]) + "\n")


def _cause(report: pytest.TestReport | pytest.CollectReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(report.longrepr if crash is None else crash.message).strip().splitlines()
    return lines[0][:200] if lines else "no message"
