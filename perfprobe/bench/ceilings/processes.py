"""Starts fresh measuring processes and reads the rows they send."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import IO, Any

from perfprobe.bench.ceilings.sweep import Sweep
from perfprobe.bench.process import PASSIVE
from perfprobe.support import starter
from perfprobe.support.errors import EnvironmentLack

_WORKER = "perfprobe.bench.ceilings.worker"
# The sweep sets the number of threads; the environment must not.
_LEFT_OUT = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_PROC_BIND", "OMP_DYNAMIC")
_GRACE_S = 60.0  # time for loading torch and one slow case; after that the process is killed


def rows(sweep: Sweep, words: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yields the rows that one fresh process measures. The process ends with the iteration.

    Args:
        words: a command line to use in place of the worker's.

    Raises:
        EnvironmentLack: the process says what is missing here, died, or did not answer.
    """
    environment = starter.environment(_LEFT_OUT) | PASSIVE
    words = words or starter.command(_WORKER)
    with tempfile.TemporaryFile() as said, _started(words, environment, said) as process:
        limit = threading.Timer(sweep.seconds + _GRACE_S, process.kill)
        limit.daemon = True  # so that Ctrl-C does not have to wait for it
        try:
            limit.start()
            yield from _answers(process, sweep)
            if process.wait() != 0:
                said.seek(0)
                raise _died(process.returncode, said.read().decode(errors="replace"))
        finally:
            limit.cancel()
            process.kill()


def _started(words: Sequence[str], environment: dict[str, str], said: IO[bytes]) -> subprocess.Popen[str]:
    # In its own session, because Ctrl-C is for this process, which then kills the other.
    pipe = subprocess.PIPE
    return subprocess.Popen(
        words, env=environment, stdin=pipe, stdout=pipe, stderr=said, start_new_session=True, text=True
    )


def _answers(process: subprocess.Popen[str], sweep: Sweep) -> Iterator[dict[str, Any]]:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(sweep.plain()))
        process.stdin.close()
    except BrokenPipeError:
        return  # its exit status says more
    for line in process.stdout:
        row: dict[str, Any] = json.loads(line)
        if "lack" in row:
            raise EnvironmentLack(*row["lack"])
        yield row


def _died(status: int, said: str) -> EnvironmentLack:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    how = f"was ended by signal {-status}" if status < 0 else f"ended with {status}"
    last = f": {lines[-1][:300]}" if lines else ""
    return EnvironmentLack("the ceilings cannot be measured", f"the measuring process {how}{last}")
