"""Has another process compile the observer before the program starts."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` would import enum
import json
import os

from perfprobe.support import starter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.built.torch_there import TorchThere

_AT_A_TIME = 1 << 16


def build(torch: TorchThere, *, quiet: bool) -> tuple[str, str] | None:
    """Waits until the observer is built; returns why it cannot be built and the remedy, else None.

    The process has its own process group, so that an interrupt of this process also ends the compiler.
    """
    reader, writer = os.pipe()
    words = starter.command("perfprobe.built.build", [torch.folder, "quiet" if quiet else "say"])
    streams = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, writer, 1)]
    process = os.posix_spawn(words[0], words, starter.environment(), file_actions=streams, setpgroup=0)
    os.close(writer)
    try:
        text = _all_of(reader)
        os.waitpid(process, 0)
    except BaseException:
        os.killpg(process, signal.SIGTERM)
        os.waitpid(process, 0)
        raise
    finally:
        os.close(reader)
    return _understood(text)


def _all_of(descriptor: int) -> bytes:
    text = b""
    while part := os.read(descriptor, _AT_A_TIME):
        text += part
    return text


def _understood(text: bytes) -> tuple[str, str] | None:
    try:
        said = json.loads(text)
    except ValueError:
        return "the process that builds it ended early", "see what `perfprobe build` says"
    return (said["where"], said["remedy"]) if said else None
