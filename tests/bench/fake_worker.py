"""Measuring processes with known answers: the real `worker.main` with a `Bench` that times nothing.

The name of a case's operator says what the case does.
"""

import ctypes
import os
import signal
import sys
import time
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from perfprobe.bench import worker
from perfprobe.bench.answers import Answer, Case
from perfprobe.bench.clocks import Block

COMMAND = [
    sys.executable,
    "-c",
    f"import sys; sys.path[:0] = {sys.path!r}; import tests.bench.fake_worker as f; f.main()",
]
CALL_NS = 1000.0


class FakeBench:
    """Each call takes 1000 ns. In `unsteady` processes the times differ by 50 %."""

    def __init__(self, torch: Any, *, seed: int, **settings: object) -> None:
        self._seed = seed

    def answer(self, case: Case, say: Callable[[Answer], object]) -> Answer:
        number, wanted = case.number, case.wanted
        what = wanted.operator.removeprefix("fake::")
        if what in FAULTS:
            FAULTS[what]()
        if what == "refused":
            return Answer(number, not_rebuilt="it cannot be")
        factor = 1.0 + 0.5 * self._seed if what == "unsteady" else 1.0
        blocks = [Block(CALL_NS * factor, CALL_NS * factor, 0.0, 0.0, 10.0)] * 3
        answer = Answer(
            number,
            operator=wanted.operator,
            blocks={"rotating": blocks, "warm": blocks},
            notes=[f"process {os.getpid()} order {what} changes {case.with_changes}"],
        )
        if what in LATE_FAULTS:
            say(replace(answer, partial=True))
            LATE_FAULTS[what]()
        return answer


def print_rubbish() -> None:
    """Prints from Python, from C, and half a line."""
    print('{"case": 0}')
    ctypes.CDLL(None).puts(b"rubbish of a library")
    os.write(1, b'{"case": 0, "blocks":')


def leave() -> None:
    raise SystemExit("it has had enough")


FAULTS: dict[str, Callable[[], object]] = {
    "segfault": lambda: ctypes.string_at(0),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "leaves": leave,
    "rubbish": print_rubbish,
    "slow": lambda: time.sleep(600.0),
}
# After the call itself was timed.
LATE_FAULTS: dict[str, Callable[[], object]] = {
    "hangs": FAULTS["slow"],
    "breaks": FAULTS["segfault"],
}


def main() -> None:
    sys.modules["torch"] = types.ModuleType("torch")
    sys.modules["torch"].__version__ = "0.0"  # type: ignore[attr-defined]
    cases = types.ModuleType("perfprobe.bench.cases")
    cases.Bench = FakeBench  # type: ignore[attr-defined]
    sys.modules["perfprobe.bench.cases"] = cases
    os.write(1, b"a library says hello\n")
    worker.main()
