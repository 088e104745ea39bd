"""Runs the tests, and those that failed again, alone: only what fails twice fails the run.

    python -m tests.second_try [--listed FILE] [arguments of pytest]

First run those that may have others beside them, in several processes, then those marked `alone`, then those
that failed, one after another in one process. What passes then depends on the machine. It should be mended.
Until then, `second_tries.json` says which and why. At most five may, in that file and in this run together.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests import failures
from tests.failures import Failure

LISTED = Path(__file__).with_name("second_tries.json")
MOST_LISTED = 5
MOST_FAILED = 25  # more did not fail because of the machine
_RAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


class Refused(Exception):
    """Why the run failed, and its exit status."""

    def __init__(self, why: str, status: int = 1) -> None:
        super().__init__(why)
        self.status = status


def main(words: Sequence[str]) -> int:
    """Returns the exit status of the run."""
    parser = argparse.ArgumentParser(prog="python -m tests.second_try", allow_abbrev=False, add_help=False)
    parser.add_argument("--listed", type=Path, default=LISTED)
    options, arguments = parser.parse_known_args(words)
    listed: dict[str, str] = json.loads(options.listed.read_text(encoding="utf-8"))
    try:
        failed = _first(arguments)
        if failed:
            _judge(failed, _again(failed), listed)
    except Refused as refused:
        print(f"\n{refused}", file=sys.stderr)
        return refused.status
    except KeyboardInterrupt:
        return 130
    return 0


def _first(arguments: Sequence[str]) -> list[Failure]:
    """What failed in the runs of all tests. Refuses a run that did not come to its end."""
    # More than there are processors: many tests sleep or wait for a process.
    processes = min(2 * len(os.sched_getaffinity(0)), 4)
    beside = [f"--numprocesses={processes}", "--dist=loadfile", "--no-loadscope-reorder"]
    statuses, failed = [], []
    for selected in (["-m", "not alone", *beside], ["-m", "alone", *_files_with_alone(arguments)]):
        status, some = _pytest([*arguments, *selected])
        if status not in _RAN or (status == pytest.ExitCode.TESTS_FAILED and not some):
            raise Refused(f"the tests did not come to their end: pytest ended with {status}", abs(status))
        statuses.append(status)
        failed += some
    if set(statuses) == {pytest.ExitCode.NO_TESTS_COLLECTED}:
        raise Refused("no such test", int(pytest.ExitCode.NO_TESTS_COLLECTED))
    return failed


def _files_with_alone(arguments: Iterable[str]) -> list[str]:
    """Naming these saves importing all others, which takes longer than some of these tests."""
    if any(Path(argument.partition("::")[0]).exists() for argument in arguments):
        return []
    files = sorted(Path("tests").rglob("test_*.py"))
    return [str(file) for file in files if re.search(r"mark\.alone", file.read_text(encoding="utf-8"))]


def _again(failed: list[Failure]) -> list[Failure]:
    """What failed again."""
    names = {failure.name for failure in failed}
    if len(names) > MOST_FAILED:
        raise Refused(f"{len(names)} tests failed: too many to run again")
    tests = list(dict.fromkeys(failure.test for failure in failed))
    print(f"\nagain, alone: {len(tests)} that failed", flush=True)
    status, twice = _pytest(["-q", *tests])
    if status not in _RAN[:2] or (status and not twice):
        why = f"the second try did not come to its end, pytest ended with {status}:"
        raise Refused("\n".join([why, *tests]))
    return twice


def _judge(failed: list[Failure], twice: list[Failure], listed: dict[str, str]) -> None:
    """Refuses the run for what failed twice, or for too many that passed on the second try."""
    still = {failure.test for failure in twice}
    passed = {failure.name: failure.cause for failure in failed if failure.test not in still}
    for name, cause in passed.items():
        print(f"passed on the second try: {name}: {listed.get(name, cause)}")
    new = {name: cause for name, cause in passed.items() if name not in listed}
    if new:
        print(f"mend them, or add to {LISTED.name}, each with its cause:")
        print(json.dumps(new, indent=4, ensure_ascii=False)[2:-2])
    if still:
        raise Refused("\n".join(["failed twice:", *sorted(still)]))
    unsteady = len({**listed, **passed})
    if unsteady > MOST_LISTED:
        raise Refused(
            f"{unsteady} tests depend on the machine, listed or in this run: at most {MOST_LISTED} may"
        )


def _pytest(arguments: Sequence[str]) -> tuple[int, list[Failure]]:
    """Runs pytest. Returns its exit status and what failed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "failures"
        words = [sys.executable, "-m", "pytest", "-p", "tests.failures", f"--failures={path}", *arguments]
        return subprocess.run(words, check=False).returncode, failures.read(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
