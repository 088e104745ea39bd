"""Interrupts at any moment of a recorded block."""

from __future__ import annotations

import random
import signal
import threading
import time
from pathlib import Path

import pytest

import perfprobe
from perfprobe import session
from perfprobe.tables import storage


# An interrupted import leaves its file to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_random_moments_of_blocks_are_neither_lost_nor_harmful(tmp_path: Path) -> None:
    main, caught, seeds = threading.main_thread().ident, 0, 60
    path = tmp_path / "block.perfprobe"
    assert main is not None

    def interrupt(delay_s: float) -> None:
        time.sleep(delay_s)
        signal.pthread_kill(main, signal.SIGINT)

    for seed in range(seeds):
        sender = threading.Thread(target=interrupt, args=(random.Random(seed).uniform(0, 0.02),))
        try:
            sender.start()
            with perfprobe.profile(path, operators="off"):
                for number in range(20):
                    with perfprobe.range(f"range {number}"):
                        sorted(range(100))
            sender.join()
            time.sleep(1)  # ended by the interrupt
        except KeyboardInterrupt:
            caught += 1
        sender.join()
        assert session.active() is None
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if path.exists():
            storage.read(path)
            path.unlink()
    assert caught == seeds
