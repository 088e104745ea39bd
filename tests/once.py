"""What is dear to make and only read, made once for all tests of a run, also with several processes."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path


class Once:
    """Folders below one that all processes of a run of tests share; each is filled by the first that asks."""

    def __init__(self, shared: Path) -> None:
        self._shared = shared

    def __call__(self, name: str, make: Callable[[Path], Path]) -> Path:
        """What `make(folder)` returned, to this process or to another; who comes second waits for the first.

        name: of the folder, and what it holds is known by. Where `make` raises, the next one tries again.
        """
        folder, done = self._shared / name, self._shared / f"{name}.done"
        self._shared.mkdir(exist_ok=True)
        with open(self._shared / f"{name}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
            if not done.exists():
                folder.mkdir(exist_ok=True)
                done.write_text(str(make(folder)), encoding="utf-8")
        return Path(done.read_text(encoding="utf-8"))
