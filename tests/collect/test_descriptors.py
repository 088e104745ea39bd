"""Programs that close all descriptors they do not know and reuse the numbers, as daemons do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfprobe.support.runtime_folder import socket_of
from perfprobe.tables import storage
from perfprobe.tables.counters import Counters
from perfprobe.tables.events import Losses
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.native_code import NativeSamples
from perfprobe.tables.recording import Recording
from tests.collect.runs import Outcome, finish, start
from tests.collect.test_native import REFUSED
from tests.test_size_gates import CPP_NOISE, cpp_files

# Files of the program's own get all numbers up to 1,100; each must keep its content and stay open. A child
# does the same, two others look at what they inherit.
PROGRAM = """
import os, sys, time
import perfprobe

mine = []

def reuse(name):
    os.closerange(3, 4096)
    mine.clear()
    while not mine or mine[-1] < 1100:
        mine.append(os.open(f"{name}-{len(mine) % 50}", os.O_RDWR | os.O_CREAT, 0o600))
        os.pwrite(mine[-1], b"mine", 0)

def check():
    for number in mine:
        assert os.pread(number, 100, 0) == b"mine", number

def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(7)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))
        perfprobe.step()

name = f"{sys.argv[1]}-{os.getpid()}"
number = os.dup(0)
print(number)
os.close(number)
busy(0.2)
print(in_child(lambda: (reuse(name + "-child"), busy(0.1), check())))
reuse(name)
print(in_child(check))
busy(0.2)
print(in_child(check))
check()
raise SystemExit(5)
"""

PLAIN = Outcome(5, b"3\n7\n7\n7\n", b"")

# A service that goes on: it waits until a request to itself is answered again.
SERVICE = """
import os, socket, sys, time
import perfprobe

os.closerange(3, 4096)
print(time.monotonic_ns(), flush=True)
until, answer = time.monotonic() + 200, b""
while not answer.startswith(b"ok") and time.monotonic() < until:
    with socket.socket(socket.AF_UNIX) as asked:
        try:
            asked.connect(sys.argv[1].replace("PID", str(os.getpid())))
            asked.sendall(b"record 2")
            answer = asked.recv(100)
        except OSError:
            time.sleep(0.05)
print(answer.decode(), end="")
for _ in range(6):
    end = time.process_time() + 0.25
    while time.process_time() < end:
        sum(range(1000))
    perfprobe.step()
"""

READ_NS = 3_000_000  # of shorter steps waiting is not read, and so not known for the one after either

OPENS = re.compile(
    r"(?<![\w>])::(open|close|openat|dup)\(|\b([io]?fstream|f(d)?open(dir)?|opendir|eventfd|epoll_create1?)\b"
)


def closed(recording: Recording) -> set[str]:
    """The sources of losses by descriptors that the program closed."""
    losses = recording[Losses]
    pairs = zip(losses.source.tolist(), losses.reason.tolist(), strict=True)
    return {source for source, reason in pairs if "the program closed" in reason}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, which under plain Python prints what it must print."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "main.py").write_text(PROGRAM)
    assert finish(start(["main.py", "x"], folder)) == PLAIN
    return folder / "main.py"


@pytest.mark.parametrize(
    ("options", "sources"),
    [
        ((), set()),  # the recording is opened again: nothing is lost
        (("--rotate", "64K", "--keep", "slow"), set()),
        (("--steps", "1:3"), set()),
        (("--wait",), {"steps"}),
        (("--memory", "--wait", "--counters", "--native"), {"steps", "counters", "native"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_programs_own_files_are_left_alone(
    options: tuple[str, ...], sources: set[str], program: Path, tmp_path: Path
) -> None:
    if REFUSED is not None and {"--counters", "--native"} & set(options):
        pytest.skip("; ".join(REFUSED))
    path = tmp_path / "a.perfprobe"
    words = ["-m", "perfprobe", "-q", *options, "-o", str(path), str(program), "x"]
    outcome = finish(start(words, tmp_path))
    assert (outcome.status, outcome.out, outcome.err) == (PLAIN.status, PLAIN.out, PLAIN.err)
    recording = storage.read(path)
    assert recording.stopped_at is None
    assert closed(recording) == sources
    steps = recording[LiveSteps]
    is_long = steps.end_ns - steps.start_ns >= READ_NS
    known = steps.waited_ns[1:][is_long[1:] & is_long[:-1]] >= 0
    # Where their loss is said, those before the descriptors were closed may be known.
    assert "steps" in sources or known.all() or (steps.waited_ns < 0).all()
    assert {path.read_bytes() for path in tmp_path.glob("x-*")} == {b"mine"}


@pytest.mark.skipif(REFUSED is not None, reason="; ".join(REFUSED or ()))
def test_what_was_closed_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "main.py").write_text(SERVICE)
    path = tmp_path / "a.perfprobe"
    options = ["-q", "--wait", "--counters", "--native", "-o", str(path)]
    socket = socket_of(0).replace("/0.", "/PID.")
    outcome = finish(start(["-m", "perfprobe", *options, "main.py", socket], tmp_path))
    assert (outcome.status, outcome.err) == (0, b"")
    first, answer = outcome.out.decode().splitlines()
    assert answer.startswith("ok ")
    recording = storage.read(path)
    assert closed(recording) == {"steps", "counters", "native"}
    later_ns = int(first) + 1_000_000_000
    assert (recording[Counters].start_ns > later_ns).any()
    assert (recording[NativeSamples].time_ns > later_ns).any()


def test_only_the_owner_opens_and_closes() -> None:
    sources = {path: CPP_NOISE.sub(" ", path.read_text()) for path in cpp_files() if "csrc" in path.parts}
    # The clock's file is closed before the program runs, a handed text by the call that opened it.
    at_once = ["clock.cpp", "handed_text.cpp"]
    found = [path.name for path, source in sources.items() if OPENS.search(source)]
    assert sorted(found) == sorted(["descriptor.cpp", *at_once])
