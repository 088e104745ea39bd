from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge.uncounted import uncounted
from tests.build import Program

REASON = "calls on 1 of 3 threads: `threading` did not start them"


def program(python: str = "3.11.7", **meta: Any) -> Program:
    """The main thread, one of `threading` that only waits, and one whose calls nobody counted."""
    made = Program(versions={"python": python}, program={"pid": 1001}, **meta)
    rows = [made.thread(number) for number in (1, 2, 3)]
    made.counted("main.py:1 main", 1, 5, 5)
    bootstrap = "/usr/lib/python3.11/threading.py:995 Thread._bootstrap"
    made.sample(10, 20, "main.py:1 main", thread=rows[0])
    made.sample(10, 20, bootstrap, "main.py:7 wait", thread=rows[1])
    made.sample(10, 20, "main.py:9 raw", thread=rows[2])
    return made


@pytest.mark.parametrize(
    ("made", "reasons"),
    [
        (program(), [REASON]),
        (program("3.10.2"), [REASON]),
        (program("3.12.1"), []),
        (program(cprofile={"ended_ns": 5}), []),
        (program(cprofile={"ended_ns": 15}), [REASON]),
    ],
    ids=["3.11", "3.10", "3.12", "started when counting had ended", "before"],
)
def test_uncounted_threads_are_named(made: Program, reasons: list[str], tmp_path: Path) -> None:
    assert [reason for loss in uncounted(made.recording(tmp_path)) for reason in loss.reason] == reasons


def test_two_rows_of_one_thread_are_merged(tmp_path: Path) -> None:
    made = program()
    same = made.row("threads", 1003, -1, made.string("again"), anew=True)
    made.counted("main.py:9 raw", 1, 5, 5, thread=same)
    assert uncounted(made.recording(tmp_path)) == []
