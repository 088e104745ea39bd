"""Fresh measuring processes, and the rows they send."""

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
# A set number of threads is the sweep's business, not the environment's.
_LEFT_OUT = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_PROC_BIND", "OMP_DYNAMIC")
_GRACE_S = 60.0  # for loading torch and for one slow case; then it is killed


def rows(sweep: Sweep, words: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """The rows measured by one fresh process, which is always ended with this.

    Args:
        words: its command line, where it is not the worker's.

    Raises:
        EnvironmentLack: the process says what is missing here, died, or did not answer.
    """
    environment = starter.environment(_LEFT_OUT) | PASSIVE
    words = words or starter.command(_WORKER)
    with tempfile.TemporaryFile() as said, _started(words, environment, said) as process:
        limit = threading.Timer(sweep.seconds + _GRACE_S, process.kill)
        limit.daemon = True  # Ctrl-C just now must not have us wait for it
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
    # In a session of its own: Ctrl-C is for us, and the process is ended when we end.
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
