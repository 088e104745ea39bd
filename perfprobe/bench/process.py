"""The parent's side of a measuring process: starts it, sends it cases, and survives its death."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf
from typing import Any

from perfprobe.bench.answers import LONGEST, Answer, Case, decode
from perfprobe.support import starter
from perfprobe.support.errors import EnvironmentLack
from perfprobe.support.text import printable
from perfprobe.tables.measurements import CRASH, TIME

# Waiting threads must sleep, so that CPU time shows which threads worked.
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
_RANK = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
_NO_TIME = "out of time before its first call"
_SILENT = "out of time"
START_LIMIT_S = 300.0
# After one timed call, silence for a thousand such calls and twenty starts is more than a slow machine.
_SILENT_CALLS = 1000
_SILENT_STARTS = 20
_LATE_CALLS = 5  # after its limit a process may still be in a call


class Ended(Exception):
    """The measuring process has ended; the message says why. cause: one of `CAUSES`."""

    def __init__(self, why: str, cause: str = CRASH) -> None:
        super().__init__(why)
        self.cause = cause


def command() -> list[str]:
    """Returns the command line of a measuring process."""
    return starter.command("perfprobe.bench.worker")


class MeasuringProcess:
    """A fresh measuring process. Call `close` at the end.

    Args:
        words: its command line.
        settings: the arguments of its `Bench`.

    Attributes:
        start_s: how long it took to start, which shows how slow the machine is now.
        latest: the latest partial answer for the current case; None without one.

    Raises:
        EnvironmentLack: it has no torch, or cannot start.
    """

    latest: Answer | None = None

    def __init__(self, words: Sequence[str], settings: Mapping[str, object]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._process = subprocess.Popen(
            words,
            env={**starter.environment(_RANK), **PASSIVE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C then only reaches the parent, which ends its child
        )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._said = b""
        self.ended = False
        began_s = time.monotonic()
        try:
            self._tell(settings)
            self.torch = str(self._ready(began_s + START_LIMIT_S)["torch"])
            self.start_s = time.monotonic() - began_s
        except Ended as why:
            self.close()
            raise EnvironmentLack("nothing can be measured", str(why), "torch must be importable") from None
        except BaseException:
            self.close()
            raise

    def ask(self, case: Case, *, is_only: bool = False) -> Answer:
        """Measures one case.

        Args:
            is_only: as in `Turn`.

        Raises:
            Ended: the process crashed in it, or took too long. It cannot be used any more.
        """
        began_s = time.monotonic()
        end_s = inf if case.limit_s is None or is_only else began_s + case.limit_s
        self.ended, self.latest = True, None  # until it answers
        self._tell(asdict(case))
        while True:
            answer = decode(self._line(end_s))
            if answer is None or answer.case != case.number:
                continue  # something that a library printed
            if not answer.partial:
                break
            self.latest = answer
            end_s = self._end_s(answer, began_s + (inf if case.limit_s is None else case.limit_s))
        self.ended = False
        return answer

    def _end_s(self, answer: Answer, limit_s: float) -> float:
        """Returns until when to wait for the next answer, from the duration of the call.

        Args:
            answer: the latest partial answer.
            limit_s: when the process itself stops measuring.
        """
        now_s, call_s = time.monotonic(), answer.blocks["rotating"][0].wall_ns * 1e-9
        silent_s = now_s + _SILENT_CALLS * call_s + _SILENT_STARTS * self.start_s
        return min(silent_s, max(limit_s, now_s) + _LATE_CALLS * call_s + self.start_s)

    def close(self) -> None:
        """Kills the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._errors):
            try:
                if file is not None:
                    file.close()
            except BrokenPipeError:
                pass  # of input that it did not read

    def _tell(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Ended(self._ending()) from None

    def _ready(self, end_s: float) -> dict[str, Any]:
        while True:
            try:
                found = json.loads(self._line(end_s))
            except ValueError:
                continue  # something that a library printed
            if isinstance(found, dict) and "torch" in found:
                return found

    def _line(self, end_s: float) -> str:
        """Returns the next line of its standard output."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._said:
                left_s = None if end_s == inf else max(end_s - time.monotonic(), 0.0)
                if not selector.select(left_s):
                    raise Ended(_NO_TIME if self.latest is None else _SILENT, TIME)
                part = os.read(self._process.stdout.fileno(), 1 << 16)
                self._said += part
                if not part or len(self._said) > LONGEST:
                    raise Ended(self._ending() if not part else "it printed too much")
        line, _, self._said = self._said.partition(b"\n")
        return line.decode(errors="replace")

    def _ending(self) -> str:
        """Returns why it ended, after it closed its standard output."""
        try:
            status = self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            return "crashed: it no longer responds"
        if status < 0:
            return f"crashed: signal {-status}"
        self._errors.seek(max(self._errors.seek(0, os.SEEK_END) - 4096, 0))
        lines = [line.strip() for line in self._errors.read().decode(errors="replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return f"crashed: exit code {status}" + (f", {printable(last)[:300]}" if last else "")
