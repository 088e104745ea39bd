"""Waits for the compiler, and says on a terminal for how long: in a line that changes and then disappears."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence

_PAUSE_S = 1.0
_LIMIT_S = 900.0


def finished(words: Sequence[str], *, watched: bool) -> tuple[int, str]:
    """Runs a command; returns its exit code and all that it said.

    Args:
        watched: whether to say on a terminal that it works.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it did not end.
    """
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        try:
            _wait(process, watched=watched and os.isatty(2))
        except BaseException:
            process.kill()
            process.wait()
            raise
        said.seek(0)
        return process.returncode, said.read().decode(errors="replace")


def _wait(process: subprocess.Popen[bytes], *, watched: bool) -> None:
    begun_s = time.monotonic()
    try:
        while (passed_s := time.monotonic() - begun_s) < _LIMIT_S:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PAUSE_S)
                return
            if watched:
                _write(f"\rperfprobe: compiling, {round(passed_s + _PAUSE_S)} s")
        raise subprocess.TimeoutExpired(process.args, _LIMIT_S)
    finally:
        if watched:
            _write("\r\x1b[K")


def _write(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, text.encode())
