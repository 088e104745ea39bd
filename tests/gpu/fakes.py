"""Checks that end in every possible way, for the tests of the harness."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from tests.gpu.child import Room, expect
from tests.gpu.result import Skip


def passes(room: Room) -> None:
    room.note(kernels=3)
    (room.out / "kept.txt").write_text("kept")
    (room.folder / "lost.txt").write_text("lost")


def fails(room: Room) -> None:
    room.note(seen=1)
    expect(False, "saw 1 and not 2")


def raises(room: Room) -> None:
    raise ValueError("a fault in the check itself")


def skips(room: Room) -> None:
    raise Skip("no ncu here")


def hangs(room: Room) -> None:
    """Hangs, with a grandchild that holds its output open, as a profiled program would."""
    room.note(reached="the hang")
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def crashes(room: Room) -> None:
    print("about to crash", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def exits(room: Room) -> None:
    print("gone early", flush=True)
    os._exit(7)


def which(room: Room) -> None:
    """The perfprobe that a check gets, and the rest of its path."""
    import perfprobe

    room.note(
        which=vars(perfprobe)["WHICH"],
        root_on_path=str(Path(__file__).resolve().parents[2]) in sys.path,
        benchmarks=find_spec("benchmarks.overhead.gpu") is not None,
    )
