"""Expensive read-only fixtures, made once for all tests of a run, also with several processes."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path


class Once:
    """Subfolders of a folder shared by all processes of a run. The first to ask for one fills it."""

    def __init__(self, shared: Path) -> None:
        self._shared = shared

    def __call__(self, name: str, make: Callable[[Path], Path]) -> Path:
        """Returns the result of `make(folder)`, made by this or another process, which is waited for.

        name: the name of the folder and of the result. If `make` raises, the next caller tries again.
        """
        folder, done = self._shared / name, self._shared / f"{name}.done"
        self._shared.mkdir(exist_ok=True)
        with open(self._shared / f"{name}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
            if not done.exists():
                folder.mkdir(exist_ok=True)
                done.write_text(str(make(folder)), encoding="utf-8")
        return Path(done.read_text(encoding="utf-8"))
