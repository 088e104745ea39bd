"""Starts child processes for checks that may crash, hang or take long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from perfprobe.support import starter
from perfprobe.support.text import printable

MARK = "perfprobe-doctor "  # before a probe's results; other lines are not from the probe
_RANK = ("RANK", "LOCAL_RANK", "WORLD_SIZE")  # with these the trial would be a rank of a distributed run


class Child:
    """A Python process with this one's sys.path. It is killed if it takes longer than `limit_s`."""

    def __init__(
        self, module: str, words: Sequence[str], folder: str | None, limit_s: float, **variables: str
    ) -> None:
        self._end = time.monotonic() + limit_s
        self._limit_s = limit_s
        self._process = subprocess.Popen(
            starter.command(module, words),
            cwd=folder,
            env={**starter.environment(_RANK), **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def wait(self) -> tuple[str, str, str]:
        """Returns standard output, standard error, and why the process failed ("" if it did not)."""
        try:
            out, err = self._process.communicate(timeout=max(self._end - time.monotonic(), 0.01))
            why = _ending(self._process.returncode)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            out, err = self._process.communicate()
            why = f"it did not answer within {round(self._limit_s)} s"
        return out.decode(errors="replace"), err.decode(errors="replace"), why


def probe(name: str, *words: str, limit_s: float) -> Child:
    """Starts one of the functions in `probes`."""
    return Child("perfprobe.doctor.probes", [name, *words], None, limit_s)


def command(words: Sequence[str], folder: str, limit_s: float, **variables: str) -> Child:
    """Starts `perfprobe WORDS` in a folder, with these variables in its environment."""
    return Child("perfprobe.cli", words, folder, limit_s, **variables)


def answers(child: Child) -> Mapping[str, Any]:
    """Returns all results of a probe. If it failed, "ended" says why."""
    out, err, why = child.wait()
    said: dict[str, Any] = {}
    for line in out.splitlines():
        if line.startswith(MARK):
            said.update(_object(line.removeprefix(MARK)))
    if why:
        said["ended"] = f"{why}: {last_line(err)}" if last_line(err) else why
    return said


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}  # truncated, because its process was killed
    return found if isinstance(found, dict) else {}


def last_line(text: str) -> str:
    """Returns the last line that is not empty, which in a traceback is the error."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("perfprobe: the recording is ")]
    return printable(lines[-1])[:500] if lines else ""


def _ending(status: int) -> str:
    if status < 0:
        return f"it was ended by {signal.Signals(-status).name}"
    return "" if status == 0 else f"it ended with exit code {status}"
