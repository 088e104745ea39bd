from pathlib import Path

import pytest

from perfprobe.report.export import collapsed
from perfprobe.support.errors import InputError
from tests.build import Program
from tests.report.exports import LOAD, content, findings, sampled
from tests.snapshots import Snapshot


def test_collapsed_stacks_by_hand(tmp_path: Path, snapshot: Snapshot) -> None:
    made = collapsed.exported(findings(sampled(), tmp_path))
    main, step = "MainThread;<module> (train.py:1)", "Trainer.step (train.py:28)"
    forward = f"{main};{step};Net.forward.<locals>.<lambda> (model.py:80)"
    engine = f"{main};{step};_engine_run_backward (graph.py:800)"
    assert sorted(content(made).decode().splitlines()) == sorted(
        [
            f"{main} 600",
            f"{forward} 100",
            f"{forward};aten::mm.out f32[2,2] f32[2,2].T (model.py:88) 200",
            f"{engine};aten::mm f32[2,2] f32[2,2].T (backward) (model.py:88) 100",
            "loader;load (load:data.py:4) 400",
            "loader;(Python not read) 20",
        ]
    )
    snapshot("\n".join(made.notes))


def test_a_single_thread_has_no_thread_frame(tmp_path: Path) -> None:
    program = Program()
    program.thread(1, "MainThread")
    program.sample(0, 2_999, "a.py:5 f")
    program.sample(0, 999, "a.py:5 g")
    assert content(collapsed.exported(findings(program, tmp_path))) == b"f (a.py:1) 2\n"


def test_equal_looking_stacks_are_one_line(tmp_path: Path) -> None:
    program = Program()
    program.thread(1, "worker")
    program.thread(2, "worker")
    program.thread(3, "other")
    for thread, time_ns in ((0, 2_000), (1, 3_600), (2, 4_000)):
        program.sample(0, time_ns, "a.py:5/4 f", "a.py:9/8 g;", thread=thread)
        program.sample(time_ns, time_ns + 600, "a.py:6/4 f", "a.py:9/8 g:", thread=thread)
    lines = content(collapsed.exported(findings(program, tmp_path))).decode().splitlines()
    assert [line.split(";") for line in lines] == [
        ["other", "f (a.py:4)", "g: (a.py:8) 4"],
        ["worker", "f (a.py:4)", "g: (a.py:8) 6"],
    ]


def test_names_cannot_break_lines(tmp_path: Path, snapshot: Snapshot) -> None:
    program = Program()
    program.thread(1, "Main\nThread;1 9")
    program.thread(2)
    program.sample(0, 5_000, LOAD, "a\n.py:5 f;\x1b[2J 3")
    program.sample(0, 5_000, LOAD, thread=1)
    snapshot(content(collapsed.exported(findings(program, tmp_path))).decode())


def test_nothing_to_export_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no stacks with times"):
        collapsed.exported(findings(Program(), tmp_path))
