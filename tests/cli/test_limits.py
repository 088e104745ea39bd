"""Limits of the system: long words and environments, full disks, permissions, files that expand."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from tests.collect.runs import both, finish, start, where
from tests.snapshots import Snapshot, masked

COUNTS = "import os, sys\nprint(len(sys.argv), sum(map(len, sys.argv)), 'B7' in os.environ)\nsys.exit(7)\n"
MEBIBYTE = 1 << 20


def test_words_and_variables_of_a_megabyte(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(COUNTS)
    words = [*["x" * 1000] * 500, "y" * 131_000]  # a word has 128 KiB at most
    pair = both(["main.py", *words], tmp_path, environment={f"B{n}": "z" * 120_000 for n in range(8)})
    assert (pair.recorded.status, pair.recorded.out) == (7, b"502 631007 True\n")
    assert pair.recorded.out == pair.plain.out
    assert pair.recorded.err == b""
    assert storage.read(pair.recording).complete


def test_an_environment_that_leaves_no_room_for_the_reports_process(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(COUNTS)
    words = [sys.executable, "-m", "perfprobe", "-o", "run.perfprobe", "main.py"]

    def ended(size: int) -> subprocess.CompletedProcess[str] | None:
        """None if the system does not even start it."""
        full = {f"B{number:03}": "z" * 100_000 for number in range(size // 100_000)}
        variables = {**full, "LAST": "z" * (size % 100_000)}
        (tmp_path / "run.perfprobe").unlink(missing_ok=True)
        try:
            return subprocess.run(
                words, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
            )
        except OSError:
            return None

    fits, too_large = 0, 64 * MEBIBYTE
    words[1:1] = ["-c", ""]  # while searching, it does nothing
    while too_large - fits > 64:
        middle = (fits + too_large) // 2
        fits, too_large = (fits, middle) if ended(middle) is None else (middle, too_large)
    del words[1:3]
    found = ended(fits)
    assert found is not None
    assert (found.returncode, found.stdout.split()[0]) == (7, "1")
    (line,) = found.stderr.splitlines()
    assert line.startswith("perfprobe: the report was not printed (OSError: [Errno 7] Argument list too long")
    assert storage.read(tmp_path / "run.perfprobe").complete


# As an ordinary user: root without its privileges obeys the permissions of files.
WITHOUT_PRIVILEGES = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


@pytest.fixture
def ordinary() -> list[str]:
    """The words before a command that run it without privileges."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root without setpriv (util-linux) cannot give up its privileges")
    if subprocess.run([*WITHOUT_PRIVILEGES, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("setpriv cannot drop privileges here")
    return WITHOUT_PRIVILEGES


@pytest.fixture
def read_only(tmp_path: Path) -> Path:
    """A folder with a program in which nothing can be written."""
    folder = tmp_path / "read_only"
    folder.mkdir()
    (folder / "main.py").write_text("print('run')\nraise SystemExit(7)\n")
    folder.chmod(0o555)
    return folder


def test_a_folder_without_rights_is_one_line(
    ordinary: list[str], read_only: Path, snapshot: Snapshot
) -> None:
    words = [*ordinary, sys.executable, "-m", "perfprobe", "main.py"]
    done = subprocess.run(words, cwd=read_only, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.count("\n") == 1
    snapshot(re.sub(r"main-\S+?\.perfprobe", "RECORDING", masked(done.stderr, folder=read_only)))


def test_only_the_recordings_folder_must_be_writable(
    ordinary: list[str], read_only: Path, tmp_path: Path
) -> None:
    variables = {**os.environ, "HOME": str(read_only), "XDG_CACHE_HOME": str(read_only / "none")}
    variables["XDG_RUNTIME_DIR"] = str(read_only)
    words = [*ordinary, sys.executable, "-m", "perfprobe", "-o", str(tmp_path / "run.perfprobe"), "main.py"]
    done = subprocess.run(words, cwd=read_only, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "run\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert storage.read(tmp_path / "run.perfprobe").complete
    assert os.listdir(read_only) == ["main.py"]


def test_a_recording_without_rights_is_one_line(ordinary: list[str], tmp_path: Path) -> None:
    (tmp_path / "run.perfprobe").write_bytes(b"PERFPROBE\n")
    (tmp_path / "run.perfprobe").chmod(0)
    words = [*ordinary, sys.executable, "-m", "perfprobe", "report", "run.perfprobe"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert done.stderr.startswith("perfprobe: ")
    assert "Permission denied" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_disk_that_fills_up_while_the_program_runs(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    source = "import torch\nx = torch.ones(2)\nfor _ in range(30_000):\n    x = x + 1\nprint(x[0].item())\n"
    (tmp_path / "main.py").write_text(source)
    command = f"ulimit -f 100; exec '{sys.executable}' -m perfprobe -q -o run.perfprobe main.py"  # KiB
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "30001.0\n")
    assert done.stderr.splitlines()[0] == where(tmp_path / "run.perfprobe")
    recording = storage.read(tmp_path / "run.perfprobe")
    assert (tmp_path / "run.perfprobe").stat().st_size <= 100 << 10
    failed = "samples that failed: the thread's frames could not be read"  # on a busy machine
    reasons = [reason for reason in recording[Losses].reason.tolist() if reason != failed]
    assert reasons == ["operators that could not be written: File too large"]


def test_a_small_file_that_expands_is_not_held_in_memory(tmp_path: Path) -> None:
    size = 256 * MEBIBYTE
    with gzip.open(tmp_path / "trace.json.gz", "wb", compresslevel=1) as file:
        file.write(b'{"traceEvents":[')
        for _ in range(size // MEBIBYTE):
            file.write(b" " * MEBIBYTE)
        file.write(b"]}")
    source = (
        "import sys\n"
        "from perfprobe.cli import main\n"
        "status = main(['report', 'trace.json.gz'])\n"
        # Not getrusage, which remembers the process that became this one.
        "print(next(int(line.split()[1]) << 10 for line in open('/proc/self/status') if 'VmHWM' in line))\n"
        "sys.exit(status)\n"
    )
    outcome = finish(start(["-c", source], tmp_path))
    assert (outcome.status, outcome.err) == (3, b"")
    assert outcome.said[0].startswith("perfprobe: the trace has no events: ")
    assert int(outcome.out) < size
