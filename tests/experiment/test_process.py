"""A run of a variant: how it ends, what is said if it fails, and that nothing goes on running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from perfprobe.experiment import process
from perfprobe.experiment.process import run
from perfprobe.experiment.variant import Variant, typed
from perfprobe.support.errors import EnvironmentLack, InputError, UsageError
from tests.snapshots import Snapshot

OPTIONS = ("-q", "--python", "off", "--operators", "off", "--children", "off")
FAILS = {
    "it fails": "import sys; print('first'); sys.exit('it is broken')",
    "it raises": "raise ValueError('no such layer')",
    "it reads": "input()",
    "it is killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "it prints": "while True: print('x' * 100000)",
    "there is none": None,
}


def variant(folder: Path, source: str | None, *words: str) -> Variant:
    if source is not None:
        (folder / "program.py").write_text(source)
    return Variant(name="A", words=("program.py", *words), folder=str(folder))


@pytest.mark.parametrize("name", FAILS)
def test_what_fails_is_one_line(
    tmp_path: Path, name: str, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MOST_OUTPUT_BYTES", 1 << 20)
    with pytest.raises(InputError) as raised:
        run(variant(tmp_path, FAILS[name], "--token", "S3CR3T"), OPTIONS, str(tmp_path / "made"))
    assert "S3CR3T" not in str(raised.value)
    snapshot(f"{raised.value}\n".replace(str(tmp_path), "FOLDER").replace(sys.executable, "PYTHON"))


def test_a_run_leaves_its_recording_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.perfprobe]\nmemory = true\n")
    run(variant(tmp_path, "print('hello')"), OPTIONS, str(tmp_path / "made"))
    assert sorted(os.listdir(tmp_path)) == ["made", "program.py", "pyproject.toml"]


def test_variables_folder_and_interpreter_are_those_of_the_variant(tmp_path: Path) -> None:
    source = "import os; open('seen', 'w').write(os.environ['SEEN'])"
    made = variant(tmp_path, source)
    asked = Variant(name="", words=made.words, folder=made.folder, variables={"SEEN": "yes"})
    run(asked, OPTIONS, str(tmp_path / "made"))
    assert (tmp_path / "seen").read_text() == "yes"


def test_what_a_program_leaves_running_is_ended(tmp_path: Path) -> None:
    source = "import subprocess, sys; print(subprocess.Popen(['sleep', '99']).pid, file=open('child', 'w'))"
    run(variant(tmp_path, source), OPTIONS, str(tmp_path / "made"))
    assert is_gone(int((tmp_path / "child").read_text()))


def test_an_interrupt_ends_a_program_that_ignores_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_PATIENCE_S", 0.2)
    source = """
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
open('child', 'w').write(str(os.getpid()))
os.rename('child', 'ready')
time.sleep(99)
"""
    made = variant(tmp_path, source)

    def interrupt() -> None:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(made, OPTIONS, str(tmp_path / "made"))
    thread.join()
    assert is_gone(int((tmp_path / "ready").read_text()))


def is_gone(pid: int) -> bool:
    """Whether a process ends within seconds; a zombie that nobody waits for has ended."""
    for _ in range(500):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_too_many_arguments() -> None:
    made = Variant(name="A", words=("program.py", *["x" * 100_000] * 100))
    with pytest.raises(EnvironmentLack, match="cannot be started: Argument list too long, with"):
        run(made, OPTIONS, "/tmp/never-made")


def test_programs_as_they_are_typed() -> None:
    found = typed("A", ["OMP_NUM_THREADS=1", "X=a=b", "train.py", "Y=1"])
    assert (dict(found.variables), found.words) == (
        {"OMP_NUM_THREADS": "1", "X": "a=b"},
        ("train.py", "Y=1"),
    )
    with pytest.raises(UsageError):
        typed("A", ["X=1"])


ENDS = """
import os, signal, sys
from perfprobe.experiment.private import private_folder
with private_folder() as folder:
    os.mkdir(folder + "/inside")
    open(folder + "/inside/file", "w").close()
    os.chmod(folder + "/inside", 0o500)
    print(folder, oct(os.stat(folder).st_mode), flush=True)
    {then}
"""


@pytest.mark.parametrize(
    ("then", "status"),
    [
        ("pass", 0),
        ("raise SystemExit(7)", 7),
        ("os.kill(os.getpid(), signal.SIGTERM); signal.pause()", 1),
        ("os.kill(os.getpid(), signal.SIGHUP); signal.pause()", 1),
    ],
)
def test_the_private_folder_is_removed_however_it_ends(tmp_path: Path, then: str, status: int) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ends = "\nexcept KeyboardInterrupt as error:\n    sys.exit(error.exit_code != 0)\n"
    source = "try:\n" + "\n".join(f"    {line}" for line in ENDS.format(then=then).splitlines()) + ends
    done = subprocess.run(
        [sys.executable, "-c", source], env=environment, capture_output=True, text=True, check=False
    )
    folder, mode = done.stdout.split()
    assert (done.returncode, mode, done.stderr) == (status, "0o40700", "")
    assert Path(folder).parent == tmp_path
    assert os.listdir(tmp_path) == []
