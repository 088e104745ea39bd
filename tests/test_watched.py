"""What setup says while it compiles."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from tests.test_release import script

watched = script("watched")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def said(stream: io.StringIO, *steps: tuple[int, int]) -> str:
    progress = watched.Progress(stream)
    for done, of in steps:
        progress.says(done, of)
    progress.ends()
    return stream.getvalue()


def test_a_file_gets_a_line_for_each_quarter() -> None:
    found = said(io.StringIO(), *((done, 40) for done in range(41)))
    assert found.splitlines() == [f"  compiled {done} of 40" for done in (10, 20, 30, 40)]


def test_a_terminal_gets_one_line_that_changes() -> None:
    found = said(Terminal(), (1, 8), (1, 8), (2, 8))
    assert re.findall(r"\r|\d+ of \d+|\x1b\[K|\n", found) == [
        "\r",
        "1 of 8",
        "\x1b[K",
        "\r",
        "2 of 8",
        "\x1b[K",
        "\n",
    ]


def test_little_work_is_not_mentioned() -> None:
    assert said(Terminal(), (0, 0), (0, 2), (1, 2), (2, 2)) == ""


def test_steps_are_those_of_the_last_whole_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert watched.steps(log) == (0, 0)
    log.write_text("time   [0/2] Re-checking\ntime   [7/60] Building CXX object\ntime [8/6")
    assert watched.steps(log) == (7, 60)


@pytest.mark.parametrize("status", [0, 3])
def test_the_command_writes_the_log_and_decides_the_status(
    status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    log.write_text("[9/9] of an earlier run\n")
    program = f"import sys; open(sys.argv[1], 'w').write('[4/4] linked\\n'); sys.exit({status})"
    assert watched.main([str(log), sys.executable, "-c", program, str(log)]) == status
    assert capsys.readouterr().err == "  compiled 4 of 4\n"


def test_a_command_that_a_signal_ends_has_the_shells_status(tmp_path: Path) -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert watched.main([str(tmp_path / "log"), sys.executable, "-c", program]) == 137
