"""The parent's side of a measuring process: starts it, asks it case by case, and survives its death."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from perfprobe.bench.answers import LONGEST, Answer, decode
from perfprobe.support import starter
from perfprobe.support.errors import EnvironmentLack
from perfprobe.support.text import printable
from perfprobe.tables.measurements import Wanted

# Waiting threads must sleep: CPU time then tells who worked.
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
_RANK = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
START_LIMIT_S = 300.0
CASE_LIMIT_S = 300.0


class Ended(Exception):
    """The measuring process is no more; the message says why."""


def command() -> list[str]:
    """What starts a measuring process."""
    return starter.command("perfprobe.bench.worker")


class MeasuringProcess:
    """A fresh process; to be closed.

    Args:
        words: its command line.
        settings: of its `Bench`.

    Raises:
        EnvironmentLack: it has no torch, or cannot start.
    """

    def __init__(self, words: Sequence[str], settings: Mapping[str, object]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._process = subprocess.Popen(
            words,
            env={**starter.environment(_RANK), **PASSIVE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C reaches the parent, which ends its child itself
        )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._said = b""
        self.ended = False
        try:
            self._tell(settings)
            self.torch = str(self._ready(time.monotonic() + START_LIMIT_S)["torch"])
        except Ended as why:
            self.close()
            raise EnvironmentLack("nothing can be measured", str(why), "torch must be importable") from None
        except BaseException:
            self.close()
            raise

    def ask(self, number: int, wanted: Wanted, recycled: bool = False) -> Answer:
        """Measure one case; recycled: see `Bench.answer`.

        Raises:
            Ended: the process crashed over it, or took too long; it is of no more use then.
        """
        end_s = time.monotonic() + CASE_LIMIT_S
        self.ended = True  # unless it answers
        self._tell({"case": number, "wanted": asdict(wanted), "recycled": recycled})
        while (answer := decode(self._line(end_s))) is None or answer.case != number:
            pass  # something that a library printed
        self.ended = False
        return answer

    def close(self) -> None:
        """End it, at once."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._errors):
            try:
                if file is not None:
                    file.close()
            except BrokenPipeError:
                pass  # what it no longer wanted to hear

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
        """The next line of its standard output."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._said:
                if not selector.select(max(end_s - time.monotonic(), 0.0)):
                    raise Ended("it took too long")
                part = os.read(self._process.stdout.fileno(), 1 << 16)
                self._said += part
                if not part or len(self._said) > LONGEST:
                    raise Ended(self._ending() if not part else "it said too much")
        line, _, self._said = self._said.partition(b"\n")
        return line.decode(errors="replace")

    def _ending(self) -> str:
        """Why it ended, once it closed its standard output."""
        try:
            status = self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            return "crashed: it no longer answers"
        if status < 0:
            return f"crashed: signal {-status}"
        self._errors.seek(max(self._errors.seek(0, os.SEEK_END) - 4096, 0))
        lines = [line.strip() for line in self._errors.read().decode(errors="replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return f"crashed: exit code {status}" + (f", {printable(last)[:300]}" if last else "")
