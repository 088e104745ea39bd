"""Runs a variant once, recorded, in a process of its own, which never outlives this one's interest in it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import IO

from perfprobe.experiment.variant import Variant
from perfprobe.support import units
from perfprobe.support.errors import EnvironmentLack, InputError, PerfprobeError
from perfprobe.support.masking.words import masked
from perfprobe.support.text import printable

MOST_OUTPUT_BYTES = 64 << 20
_LONGEST = 300  # characters of a failed program's error output that are quoted
_READ_BYTES = 1 << 16  # of its end
_LOOK_S = 0.25  # between two looks at the size of its output
_PATIENCE_S = 5.0  # for a program that was asked to end
_NO_INPUT = "EOFError"


def run(variant: Variant, options: Sequence[str], path: str, printed: str | None = None) -> None:
    """Run a variant, recorded into the file `path`. It reads no input, and its output is not shown.

    Args:
        options: of `perfprobe run`.
        printed: a file for its standard output, which is kept.

    Raises:
        InputError: it failed, printed too much, or reads input.
        EnvironmentLack: it cannot be started.
    """
    said = f"{path}.said"
    try:
        with ExitStack() as files:
            errors = files.enter_context(open(said, "wb"))
            output = errors if printed is None else files.enter_context(open(printed, "wb"))
            status = _status(variant, [*options, "-o", path, *variant.words], output, errors)
    except OSError as error:
        raise EnvironmentLack(f"a run cannot be kept ({error.strerror})", said) from error
    if status != 0 or not os.path.exists(path):
        raise _failure(variant, status, said)
    os.unlink(said)


def _status(variant: Variant, words: Sequence[str], output: IO[bytes], errors: IO[bytes]) -> int:
    process = _started(variant, words, output, errors)
    try:
        return _waited(variant, process, (output, errors))
    finally:
        _end(process)


def _started(
    variant: Variant, words: Sequence[str], output: IO[bytes], errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    """The process. It has a session of its own: Ctrl-C reaches this process only, which ends the other."""
    try:
        return subprocess.Popen(
            [variant.python, "-m", "perfprobe", "run", "--no-config", *words],
            env={**os.environ, **variant.variables},
            cwd=variant.folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    except OSError as error:  # arguments that just fitted beside the words of this command
        where = f"{error.strerror}, with {len(words)} arguments"
        raise EnvironmentLack("the program cannot be started", where, "give it fewer") from error


def _waited(variant: Variant, process: subprocess.Popen[bytes], files: Sequence[IO[bytes]]) -> int:
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_LOOK_S)
        if max(os.fstat(file.fileno()).st_size for file in files) > MOST_OUTPUT_BYTES:
            what = f"the program printed more than {units.size(MOST_OUTPUT_BYTES)}"
            raise InputError(_of(variant, what), variant.shown, "let it print less")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process if it runs, and what it left running."""
    try:
        if process.returncode is None:
            _signal(process, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE_S)
    finally:  # also if Ctrl-C comes again
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _failure(variant: Variant, status: int, said: str) -> PerfprobeError:
    last = _last_words(said)
    if last.startswith(_NO_INPUT):
        return InputError(_of(variant, "the program reads input, which it cannot get here"), variant.shown)
    if status < 0:
        with suppress(ValueError):
            what = f"the program was ended by {signal.Signals(-status).name}"
            return InputError(_of(variant, what), variant.shown, last)
    if status == 0:
        return InputError(_of(variant, "the program left no recording"), variant.shown, last)
    return InputError(_of(variant, f"the program ended with exit code {status}"), variant.shown, last)


def _of(variant: Variant, what: str) -> str:
    return f"{variant.name}: {what}" if variant.name else what


def _last_words(path: str) -> str:
    """The last line that it printed, without secrets."""
    with open(path, "rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - _READ_BYTES, 0))
        text = file.read().decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("perfprobe:")]
    return printable(masked(lines[-1:])[0][:_LONGEST]) if lines else ""
