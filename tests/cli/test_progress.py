"""Progress on a terminal: the remaining time of a bar, and that a large file is being read."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.progress import Progress

from perfprobe.cli.time_left import TimeLeft


@pytest.mark.parametrize(
    ("left_s", "reported"), [(160.0, "0:02:40 left"), (3725.2, "1:02:05 left"), (-3.0, "0:00:00 left")]
)
def test_the_time_left_comes_from_the_caller(
    left_s: float, reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    progress = Progress()
    progress.add_task("measuring", total=10, end_s=1000.0 + left_s)
    assert TimeLeft().render(progress.tasks[0]).plain == reported


def test_without_a_given_time_rich_estimates_it() -> None:
    progress = Progress()
    progress.add_task("measuring", total=10, end_s=None)
    assert TimeLeft().render(progress.tasks[0]).plain == "-:--:--"


@pytest.mark.parametrize(
    ("size_bytes", "said"), [(40 << 20, b"reading 1 file, 40.0 MiB ..."), (1 << 20, b"done")]
)
def test_reading_large_files_is_shown_until_it_ends(size_bytes: int, said: bytes, tmp_path: Path) -> None:
    with open(tmp_path / "run.perfprobe", "wb") as file:
        file.truncate(size_bytes)
    program = (
        "import sys, time; from perfprobe.cli.progress import reading\n"
        "with reading(['run.perfprobe']): time.sleep(0.1)\n"
        "sys.stderr.write('done')\n"
    )
    terminal, end = os.openpty()
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, stderr=end, check=True)
    os.close(end)
    shown = os.read(terminal, 1 << 16)
    os.close(terminal)
    assert said in shown
    assert (b"reading" in shown) == (b"reading" in said)
    assert shown.endswith(b"done")
