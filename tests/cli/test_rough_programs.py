"""Programs that break the recording's file, descriptors or signals run unchanged; perfprobe says one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from perfprobe.tables import storage
from tests.collect.runs import LIMIT_S, Outcome, finish, start
from tests.snapshots import Snapshot, masked

SPAWN = """
import multiprocessing, os, shutil
if __name__ == "__main__":
    {first}
    child = multiprocessing.get_context("spawn").Process(target=print, args=("child",))
    child.start()
    child.join()
    print(child.exitcode)
"""


def run(source: str, folder: Path, *options: str) -> Outcome:
    (folder / "main.py").write_text(source)
    return finish(start(["-m", "perfprobe", *options, "main.py"], folder))


def test_the_program_removes_the_recording(tmp_path: Path, snapshot: Snapshot) -> None:
    outcome = run("import os; os.remove('a.perfprobe'); raise SystemExit(5)", tmp_path, "-o", "a.perfprobe")
    assert (outcome.status, outcome.out, outcome.err) == (5, b"", b"")
    snapshot(masked("\n".join(outcome.said), folder=tmp_path))


def test_the_program_closes_all_descriptors(tmp_path: Path) -> None:
    source = "import os; os.closerange(3, 300); print(open('mine.txt', 'w').write('mine'))"
    outcome = run(source, tmp_path, "-q", "-o", "a.perfprobe")
    assert (outcome.status, outcome.out, outcome.err) == (0, b"4\n", b"")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert storage.read(tmp_path / "a.perfprobe").stopped_at is None


def test_a_file_that_replaces_standard_error_gets_no_output(tmp_path: Path) -> None:
    source = (
        "import os; os.close(2); f = open('mine.txt', 'w'); f.write('mine'); f.flush(); print(f.fileno())"
    )
    outcome = run(source, tmp_path, "--json", "out.json", "-o", "a.perfprobe")
    assert outcome == Outcome(0, b"2\n", b"")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert json.loads((tmp_path / "out.json").read_text())["schema"] == 1


def test_the_program_ignores_ended_children(tmp_path: Path) -> None:
    outcome = run("import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)", tmp_path)
    assert outcome.status == 0
    assert b"o operators" in outcome.err
    assert len(outcome.said) == 1


def test_the_program_blocks_and_ignores_signals(tmp_path: Path) -> None:
    source = (
        "import signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
    )
    outcome = run(source, tmp_path)
    assert outcome.status == 0
    assert b"o operators" in outcome.err


def test_a_spawned_child_runs_even_if_it_cannot_be_recorded(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "gone").mkdir()
    outcome = run(SPAWN.format(first="shutil.rmtree('gone')"), tmp_path, "-q", "-o", "gone/a.perfprobe")
    assert (outcome.status, outcome.out, outcome.err) == (0, b"child\n0\n", b"")
    snapshot(masked("\n".join(line for line in outcome.said if "child" in line), folder=tmp_path))


def test_spawned_children_after_a_change_of_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    outcome = run(SPAWN.format(first="os.chdir('elsewhere')"), tmp_path, "-q")
    assert (outcome.status, outcome.out, outcome.err) == (0, b"child\n0\n", b"")
    assert len(list(tmp_path.glob(".perfprobe/main-*.perfprobe"))) == 1
    assert len(list(tmp_path.glob(".perfprobe/main-*-children/*.perfprobe"))) == 1


def test_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print('never')")
    command = f"ulimit -f 0; exec '{sys.executable}' -m perfprobe -o a.perfprobe main.py"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stdout) == (4, b"")
    (line,) = done.stderr.splitlines()
    assert line.startswith(b"perfprobe: the recording cannot be written (File too large): ")
    assert not (tmp_path / "a.perfprobe").exists()


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    script = folder + b"/tr\xffin.py"
    with open(script, "wb") as file:
        file.write(b"import sys; print(ascii(sys.argv))\n")
    done = subprocess.run(
        [os.fsencode(sys.executable), b"-m", b"perfprobe", b"tr\xffin.py", b"\xfe"],
        cwd=folder,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"['tr\\udcffin.py', '\\udcfe']\n")
    assert b"o operators" in done.stderr
    names = os.listdir(folder + b"/.perfprobe")
    assert sum(name.startswith(b"tr\xffin-") and name.endswith(b".perfprobe") for name in names) == 1
