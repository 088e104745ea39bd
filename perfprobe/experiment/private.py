"""A folder that only this user can read, removed at the end, whatever ends it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from perfprobe.support.errors import EnvironmentLack

CTRL_C = 130
_ASK_TO_END = (signal.SIGTERM, signal.SIGHUP)


class Ended(KeyboardInterrupt):
    """A signal asked this process to end. It is raised like Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


def exit_code_of(interrupt: KeyboardInterrupt) -> int:
    """That of a program which a signal, or Ctrl-C, ended."""
    return interrupt.exit_code if isinstance(interrupt, Ended) else CTRL_C


@contextmanager
def private_folder() -> Iterator[str]:
    """A new folder below TMPDIR. Signals that ask this process to end raise `Ended`, so that it is removed.

    Raises:
        EnvironmentLack: the disk is full, or the folder cannot be made.
    """
    before = {number: signal.getsignal(number) for number in _ASK_TO_END}
    folder = ""
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, _raise)
        folder = tempfile.mkdtemp(prefix="perfprobe-")
        yield folder
    except OSError as error:
        raise _lack(error, folder or tempfile.gettempdir()) from error
    finally:
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *_ASK_TO_END})
        remove_all(folder)
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _raise(number: int, _frame: FrameType | None) -> None:
    raise Ended(number)


def _lack(error: OSError, folder: str) -> EnvironmentLack:
    where = str(error.filename or folder)
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = f"make room in {folder}, or set TMPDIR" if error.errno in full else ""
    return EnvironmentLack(f"the experiment cannot go on ({error.strerror})", where, remedy)


def remove_all(folder: str) -> None:
    """Removes a folder, with what a program made read-only."""
    for place, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                with suppress(OSError):
                    os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
