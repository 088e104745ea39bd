"""Runs a command that writes a log, and says meanwhile how far its ninja is, from that log.

    python .ci/watched.py LOG COMMAND ...

On a terminal this is a line that changes, otherwise a line for each quarter. Fewer than four steps are not
mentioned. Exits as the command does.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

_STEP = re.compile(rb"\[(\d+)/(\d+)\] [^\n]*\n")
_LEAST_STEPS = 4
_PAUSE_S = 0.25


class Progress:
    """Says how many steps are done, each thing once."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._in_place = stream.isatty()
        self._said = (0, 0)
        self._quarters = 0

    def says(self, done: int, steps: int) -> None:
        """Print it, unless it says no more than before."""
        if (done, steps) == self._said or steps < _LEAST_STEPS:
            return
        self._said = (done, steps)
        quarters = 4 * done // steps
        if self._in_place:
            self._print(f"\r  compiled {done} of {steps}\x1b[K")
        elif quarters > self._quarters:
            self._print(f"  compiled {done} of {steps}\n")
        self._quarters = quarters

    def ends(self) -> None:
        """Leave the line that changes."""
        if self._in_place and self._said != (0, 0):
            self._print("\n")

    def _print(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def main(words: Sequence[str]) -> int:
    """Run the command. A log that is there already is of an earlier one."""
    log, progress = Path(words[0]), Progress(sys.stderr)
    log.unlink(missing_ok=True)
    command = subprocess.Popen(words[1:])
    try:
        while not _ended(command):
            progress.says(*steps(log))
        progress.says(*steps(log))
    except KeyboardInterrupt:
        command.wait()
        return 130
    finally:
        progress.ends()
    return command.returncode if command.returncode >= 0 else 128 - command.returncode


def _ended(command: subprocess.Popen[bytes]) -> bool:
    try:
        command.wait(_PAUSE_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def steps(log: Path) -> tuple[int, int]:
    """How many steps of ninja are done, and how many there are: 0 of 0 before it begins."""
    try:
        found = _STEP.findall(log.read_bytes())
    except FileNotFoundError:
        return 0, 0
    return (int(found[-1][0]), int(found[-1][1])) if found else (0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
