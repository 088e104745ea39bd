"""Runs a process that may hang, crash or leave children behind, in a limited time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TAIL_BYTES = 64 << 10
_GONE_S = 5.0  # a killed process may stay for a while if a driver holds it; after this it is left behind


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    status: None if it was killed at its limit, -N by signal N. output: its last 64 KiB.
    """

    status: int | None
    output: str
    seconds: float

    def how(self) -> str:
        """The result in words."""
        if self.status is None:
            return f"hung: killed after {self.seconds:.0f} s"
        if self.status < 0:
            return f"crashed: {signal.Signals(-self.status).name}"
        return f"ended with status {self.status}"

    def last_line(self) -> str:
        """The last line of output, such as the text of an exception."""
        lines = self.output.strip().splitlines()
        return lines[-1].strip() if lines else "no message"


def run(
    words: Sequence[object],
    limit_s: float,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Runs it in that folder. At its limit, or if this process is interrupted, its whole group is killed."""
    begin = time.monotonic()
    # A file instead of a pipe: a grandchild that lives on would keep a pipe open, and the reader would wait.
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [str(word) for word in words],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(timeout=max(0.1, limit_s))
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _kill(process)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _TAIL_BYTES))
        text = output.read().decode(errors="replace")
    return Ended(status, text, time.monotonic() - begin)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_GONE_S)
