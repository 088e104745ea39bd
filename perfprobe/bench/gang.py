"""Threads of our own that work in parallel, for kernels outside torch."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Gang:
    """A fixed number of threads, including the calling one.

    They are kept, because the CPU time of a thread that has ended can no longer be read.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._begin, self._end = threading.Barrier(threads), threading.Barrier(threads)
        self._run: Callable[[int], object] = lambda _: None
        for number in range(1, threads):
            threading.Thread(target=self._work, args=(number,), daemon=True).start()

    def call(self, run: Callable[[int], object]) -> None:
        """Runs the function once on each thread, with the thread's number."""
        self._run = run
        if self.threads == 1:
            run(0)
            return
        self._begin.wait()
        run(0)
        self._end.wait()

    def _work(self, number: int) -> None:
        while True:
            self._begin.wait()
            self._run(number)
            self._end.wait()
