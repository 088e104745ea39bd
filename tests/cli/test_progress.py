"""Progress on a terminal: the remaining time of a bar, and that files are being read."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.progress import Progress

from perfprobe.cli.time_left import TimeLeft
from tests.terminal import shown


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


@pytest.mark.parametrize(("patience_s", "is_shown"), [(0.0, True), (1e6, False)])
def test_reading_that_takes_long_is_shown_until_it_ends(
    patience_s: float, is_shown: bool, tmp_path: Path
) -> None:
    """A small file may take long too: it may expand to gigabytes."""
    (tmp_path / "trace.json.gz").write_bytes(b"1" * 1500)
    program = (
        "import sys, threading; from perfprobe.cli import progress\n"
        f"progress._PATIENCE_S = {patience_s}\n"
        "shown, write = threading.Event(), progress._write\n"
        "progress._write = lambda text: (write(text), shown.set())\n"
        f"with progress.reading(['trace.json.gz']): shown.wait() if {is_shown} else None\n"
        "sys.stderr.write('done')\n"
    )
    terminal, end = os.openpty()
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, stderr=end, check=True)
    text = shown(terminal, end)
    assert (b"reading 1 file, 1.46 KiB: " in text) == is_shown
    assert text.endswith(b"\r\x1b[Kdone" if is_shown else b"done")
