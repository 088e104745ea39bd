"""`perfprobe trigger`, from other processes, while a program with `--wait` runs."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from perfprobe.cli import trigger
from perfprobe.collect.options import Options
from perfprobe.models.left_out import is_untriggered
from perfprobe.support import runtime_folder
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.text import printable
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.live_steps import LiveSteps
from tests.collect import recorded
from tests.snapshots import Snapshot, masked

# Step n multiplies by a matrix of n + 1 columns; it ends when the test asks for it.
PROGRAM = """
import os, time, torch
import perfprobe

def write_sockets(name):
    links = (f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd"))
    found = [os.readlink(link) for link in links if os.path.lexists(link)]
    with open(name, "w") as file:
        file.write(" ".join(text for text in found if text.startswith("socket:")))

write_sockets("parent")
child = os.fork()
if child == 0:
    write_sockets("child")
    os._exit(0)
os.waitpid(child, 0)
number = 0
while not os.path.exists("end"):
    torch.ones(2, 2).mm(torch.ones(2, number + 1))
    time.sleep(0.02)
    number += 1
    perfprobe.step()
    with open("at", "w") as file:
        file.write(str(number))
"""
LIMIT_S = 120
NOBODY = 65534


@dataclass
class Running:
    process: subprocess.Popen[str]
    folder: Path

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        asked = [sys.executable, "-m", "perfprobe", "trigger", str(self.process.pid), *words]
        return subprocess.run(asked, capture_output=True, text=True, check=False)

    def window(self, steps: int) -> list[int]:
        """The steps that the program says it will record."""
        asked = self.ask("--steps", str(steps))
        assert asked.returncode == 0, asked.stderr
        found = re.fullmatch(rf"Process {self.process.pid} records the steps (\d+):(\d+)\.\n", asked.stdout)
        assert found is not None
        return list(range(int(found[1]), int(found[2])))

    def wait_for(self, step: int) -> None:
        until = time.monotonic() + LIMIT_S
        while int((self.folder / "at").read_text() or 0) <= step:
            assert time.monotonic() < until
            time.sleep(0.05)

    def end(self) -> None:
        (self.folder / "end").touch()
        self.process.communicate(timeout=LIMIT_S)


# A killed program with this PID left its socket. `exec` keeps the PID.
STALE = """
import os, socket, sys
from perfprobe.support import runtime_folder
os.makedirs(runtime_folder.folder(), mode=0o700)
socket.socket(socket.AF_UNIX).bind(runtime_folder.socket_of(os.getpid()))
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.fixture
def running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Running]:
    is_stale = getattr(request, "param", False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "at").write_text("0")
    words = ["-m", "perfprobe", "run", "-q", "--wait", "-o", "run.perfprobe", "program.py"]
    words = ["-c", STALE, *words] if is_stale else words
    process = subprocess.Popen([sys.executable, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == f"perfprobe: waits for `perfprobe trigger {process.pid}`\n"
    yield Running(process, tmp_path)
    process.kill()
    process.wait()
    process.stderr.close()


def test_steps_asked_for_twice_are_recorded_and_no_others(running: Running) -> None:
    running.wait_for(2)
    first = running.window(3)
    running.wait_for(first[-1] + 3)
    second = running.window(2)
    both = [*second, *running.window(2)]  # behind those that are under way
    running.wait_for(both[-1] + 3)
    cut = storage.read(running.folder / "run.perfprobe")  # while it runs
    assert not cut.complete
    running.end()
    assert not list((running.folder / "perfprobe").iterdir())
    recording = storage.read(running.folder / "run.perfprobe")
    rows = recording[LiveSteps]
    assert rows.number[rows.is_recorded > 0].tolist() == [*first, *both]
    columns = [
        row.sizes[1][1] for row in recorded.rows(running.folder / "run.perfprobe") if row.name == "aten::mm"
    ]
    assert columns == [step + 1 for step in (*first, *both)]
    # The other steps, what windows leave out, and the child.
    assert recording[Losses].source.tolist() == ["steps", "steps", "processes"]
    assert not is_untriggered(recording)
    assert (running.folder / "parent").read_text() != ""
    assert (running.folder / "child").read_text() == ""  # a child that outlives the program does not listen


def test_a_program_that_was_never_triggered_is_not_judged(running: Running, snapshot: Snapshot) -> None:
    running.wait_for(3)
    running.end()
    steps = len(storage.read(running.folder / "run.perfprobe")[LiveSteps])
    shown = subprocess.run(
        [sys.executable, "-m", "perfprobe", "report", "run.perfprobe"],
        cwd=running.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    head, *lines = shown.stdout.splitlines()
    assert head.startswith("program.py  wall ")
    asked = f"perfprobe trigger {running.process.pid}"
    snapshot(masked("\n".join(lines), command=asked, steps=f"{steps + 1} steps"))


@pytest.mark.parametrize("running", [True], indirect=True)
def test_the_socket_of_a_killed_program_is_no_obstacle(running: Running) -> None:
    steps = running.window(1)
    running.wait_for(steps[-1] + 1)
    running.end()
    rows = storage.read(running.folder / "run.perfprobe")[LiveSteps]
    assert rows.number[rows.is_recorded > 0].tolist() == steps


def test_another_user_is_refused(running: Running) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user")
    child = os.fork()
    if child == 0:
        os.setuid(NOBODY)
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(f"{running.folder}/perfprobe/{running.process.pid}.socket")
            except PermissionError:
                os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_peer_of_another_user_is_refused_where_the_folder_lets_it_in(running: Running) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user")
    path = f"{running.folder}/perfprobe/{running.process.pid}.socket"
    client = socket.socket(socket.AF_UNIX)
    child = os.fork()
    if child == 0:
        os.chdir(f"{running.folder}/perfprobe")  # from within, rights of the folders above do not matter
        os.chmod(".", 0o755)
        os.chmod(path, 0o666)
        os.setuid(NOBODY)
        client.connect(os.path.basename(path))
        client.sendall(b"record 3\n")
        os._exit(7 if client.recv(100).startswith(b"refused: the program belongs to another user") else 0)
    client.close()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_what_is_no_request_is_refused_and_the_next_one_is_heard(running: Running) -> None:
    for text in (b"hello\n", b"record -3\n", b"record many\n"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{running.folder}/perfprobe/{running.process.pid}.socket")
            client.sendall(text)
            assert client.recv(100).startswith(b"refused")
    assert len(running.window(4)) == 4
    running.end()
    asked = running.ask()
    assert (asked.returncode, "no such process, or it has ended" in asked.stderr) == (4, True)


def refusal(pid: int) -> str:
    with pytest.raises(EnvironmentLack) as found:
        trigger.prepare([str(pid)])
    return str(found.value)


def test_why_a_process_cannot_be_triggered(
    tmp_path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    living = masked(refusal(os.getpid()), pid=os.getpid())
    killed = subprocess.Popen(["true"])
    killed.wait()
    path = Path(runtime_folder.made()) / f"{killed.pid}.socket"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))  # left behind by a killed program
    ended = masked(refusal(killed.pid), pid=killed.pid)
    if os.geteuid() == 0:
        other = subprocess.Popen(["sleep", "60"], user=NOBODY)
        assert f"{other.pid}, user {NOBODY}" in refusal(other.pid)
        assert f"-u '#{NOBODY}' perfprobe trigger" in refusal(other.pid)
        other.kill()
        other.wait()
    snapshot(living=living, ended=ended)


def test_the_socket_is_found_from_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    path = Path(runtime_folder.made()) / f"{os.getpid()}.socket"
    with socket.socket(socket.AF_UNIX) as waiting:
        waiting.bind(str(path))
        monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/other")
        assert runtime_folder.found_socket_of(os.getpid()) == str(path)
    path.unlink()


EVIL = "\x1b]0;owned\x07\x9b2J\u202e"


def listening(path: Path, answer: str, prepare: Callable[[], None] = lambda: None) -> int:
    """A process that listens there when this returns, and gives everyone this answer; its PID."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        prepare()
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.bind(str(path))
            waiting.listen()
            os.write(writer, b"1")
            while True:
                with waiting.accept()[0] as peer:
                    peer.recv(100)
                    peer.sendall(answer.encode())
    assert os.read(reader, 1) == b"1"
    os.close(reader)
    os.close(writer)
    return child


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return Path(runtime_folder.made())


@pytest.fixture
def children() -> Iterator[list[int]]:
    started: list[int] = []
    yield started
    for child in started:
        os.kill(child, 9)
        os.waitpid(child, 0)


@pytest.mark.parametrize("answer", [f"ok {EVIL} 3\n", f"refused: {EVIL}\n", EVIL, "ok 1 2 3\n"])
def test_an_answer_is_never_printed_raw(folder: Path, answer: str, children: list[int]) -> None:
    children.append(listening(folder / "4711.socket", answer))
    refused = "the program refuses: " + printable(answer.removeprefix("refused: ").strip())
    asked = subprocess.run(
        [sys.executable, "-m", "perfprobe", "trigger", "4711"], capture_output=True, check=False
    )
    assert (asked.returncode, asked.stdout) == (3, b"")
    assert asked.stderr.decode() == f"perfprobe: {refused}\n"


@pytest.mark.parametrize("what", ["folder", "rights", "socket", "kind"])
def test_what_another_user_may_have_put_there_is_not_asked(
    folder: Path, what: str, children: list[int]
) -> None:
    path = folder / "4711.socket"
    children.append(listening(path, "ok 1 2\n"))
    assert trigger._asked(4711, 1) == "ok 1 2\n"
    if what == "rights":
        folder.chmod(0o755)
    elif what == "kind":
        path.rename(folder / "moved")
        path.symlink_to(folder / "moved")
    elif os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    else:
        os.chown(folder if what == "folder" else path, NOBODY, NOBODY)
    assert "set XDG_RUNTIME_DIR" in refusal(4711)


def test_a_listener_of_another_user_is_not_asked(folder: Path, children: list[int]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user")
    os.chown(folder, NOBODY, NOBODY)

    def become_another() -> None:
        os.chdir(folder)
        os.setuid(NOBODY)

    children.append(listening(Path("4711.socket"), "ok 1 2\n", become_another))
    for path in (folder, folder / "4711.socket"):
        os.chown(path, 0, 0)
    assert f"user {NOBODY} listens at {folder}/4711.socket" in refusal(4711)


def test_a_folder_that_others_can_enter_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "perfprobe").mkdir(mode=0o755)
    with pytest.raises(EnvironmentLack, match="no folder of this user alone"):
        runtime_folder.made()


def test_waiting_excludes_windows() -> None:
    with pytest.raises(UsageError, match="--wait cannot be combined with windows"):
        Options(wait=True, steps="1:2")
