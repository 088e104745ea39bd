"""Runs a program twice, under plain python and under perfprobe, and brings back both outcomes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 240  # on a machine with much else to do; a program that hangs is found all the same

# Whose losses depend on how busy the machine is: looks that came to nothing, calls too dear to count.
BUSY_SOURCES = {"cprofile", "samples"}


@dataclass(frozen=True)
class Outcome:
    """What can be seen of a process from outside; `said` are perfprobe's own lines on standard error."""

    status: int
    out: bytes
    err: bytes
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """The same program, run both ways."""

    plain: Outcome
    recorded: Outcome
    recording: Path


def start(
    words: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A Python process; both are started before either is waited for, so that they share the cores."""
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes], given: bytes = b"", *, limit_s: float = LIMIT_S) -> Outcome:
    """The outcome of a process, with what perfprobe said taken out of its standard error."""
    try:
        out, err = process.communicate(given, timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()  # or it slows down, and its open pipes fail, the tests that follow
        process.communicate()
        raise
    lines = err.split(b"\n")
    said = tuple(line.decode() for line in lines if line.startswith(b"perfprobe: "))
    rest = b"\n".join(line for line in lines if not line.startswith(b"perfprobe: "))
    return Outcome(process.returncode, out, rest, said)


def perfprobe(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    limit_s: float = LIMIT_S,
) -> Outcome:
    """`python -m perfprobe` with these words."""
    return finish(start(["-m", "perfprobe", *words], folder, environment), limit_s=limit_s)


def both(
    words: Sequence[str],
    folder: Path,
    *,
    given: bytes = b"",
    environment: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
) -> Pair:
    """Run `python FLAGS WORDS` and the same with `-m perfprobe`, at the same time and in the same folder."""
    recording = folder / "recorded.perfprobe"
    plain = start([*flags, *words], folder, environment)
    recorded = start([*flags, "-m", "perfprobe", "-q", "-o", str(recording), *words], folder, environment)
    return Pair(finish(plain, given), finish(recorded, given), recording)
