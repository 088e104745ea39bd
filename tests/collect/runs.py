"""Runs a program under plain python and under perfprobe, and returns both outcomes."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfprobe.cli import main

LIMIT_S = 240  # enough for a busy machine; finds a program that hangs

POISONED = str(Path(__file__).with_name("poisoned.py"))

# Sources whose losses depend on the machine's load: failed looks, calls that are too expensive to count.
BUSY_SOURCES = {"cprofile", "samples"}


@dataclass(frozen=True)
class Outcome:
    """What is visible of a process from outside. `said`: perfprobe's own lines on standard error."""

    status: int
    out: bytes
    err: bytes
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """The same program, run in both ways."""

    plain: Outcome
    recorded: Outcome
    recording: Path


def where(recording: Path) -> str:
    """The line that says where the recording is."""
    return f"perfprobe: the recording is {recording}"


def start(
    words: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A Python process. Both are started before either is waited for, so that they share the processors."""
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes], given: bytes = b"", *, limit_s: float = LIMIT_S) -> Outcome:
    """The outcome of a process, with perfprobe's lines removed from its standard error."""
    try:
        out, err = process.communicate(given, timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()  # otherwise it slows down the following tests, and its open pipes make them fail
        process.communicate()
        raise
    return _outcome(process.returncode, out, err)


def _outcome(status: int, out: bytes, err: bytes) -> Outcome:
    lines = err.split(b"\n")
    said = tuple(line.decode() for line in lines if line.startswith(b"perfprobe: "))
    rest = b"\n".join(line for line in lines if not line.startswith(b"perfprobe: "))
    return Outcome(status, out, rest, said)


def perfprobe(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    limit_s: float = LIMIT_S,
) -> Outcome:
    """Starts `python -m perfprobe` with these words."""
    return finish(start(["-m", "perfprobe", *words], folder, environment), limit_s=limit_s)


def command(words: Sequence[str], folder: Path) -> Outcome:
    """Runs a command that runs no program, in this process: to start another takes 0.3 s."""
    before, descriptor = os.getcwd(), os.dup(2)
    written = io.BytesIO()
    with tempfile.TemporaryFile() as errors:
        os.chdir(folder)
        os.dup2(errors.fileno(), 2)  # perfprobe writes errors where a program cannot redirect them
        try:
            with (
                open(2, "w", 1, "utf-8", closefd=False) as stream,
                contextlib.redirect_stderr(stream),
                contextlib.redirect_stdout(io.TextIOWrapper(written, "utf-8", write_through=True)) as shown,
            ):
                status = main(words)
                shown.flush()
                out = written.getvalue()
        finally:
            os.dup2(descriptor, 2)
            os.close(descriptor)
            os.chdir(before)
        errors.seek(0)
        return _outcome(status, out, errors.read())


def both(
    words: Sequence[str],
    folder: Path,
    *,
    given: bytes = b"",
    environment: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
) -> Pair:
    """Runs `python FLAGS WORDS` and the same with `-m perfprobe`, at the same time and in the same folder."""
    recording = folder / "recorded.perfprobe"
    plain = start([*flags, *words], folder, environment)
    recorded = start([*flags, "-m", "perfprobe", "-q", "-o", str(recording), *words], folder, environment)
    return Pair(finish(plain, given), finish(recorded, given), recording)


def poisoned(place: str, name: str, words: list[str], folder: Path) -> Outcome:
    """The outcome of perfprobe with a function of its own that gets a signal; see `poisoned.py`."""
    path, _, function = place.rpartition(".")
    if path.rpartition(".")[2][:1].isupper():
        path, _, kind = path.rpartition(".")
        function = f"{kind}.{function}"
    return finish(start([POISONED, path, function, name, *words], folder))
