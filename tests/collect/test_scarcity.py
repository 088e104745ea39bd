"""Memory, address space or threads run out: the program is left alone, and the message says of what."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.support import scarcity
from perfprobe.support.errors import EnvironmentLack
from perfprobe.tables import storage

MB = 1 << 20
# The steps are smaller than a thread's stack, so that the writer's thread is met.
LIMITS_MB = range(4, 100, 4)
PEAK = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmPeak')))"


def limited(words: list[str], folder: Path, limit_bytes: int) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes)),
        timeout=60,
    )


def test_the_program_runs_or_the_message_says_that_memory_is_low(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print('ran')")
    peak = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, check=True).stdout
    least_bytes = int(peak) << 10
    said = b""
    for more in LIMITS_MB:
        file = tmp_path / f"{more}.perfprobe"
        words = ["-m", "perfprobe", "-o", str(file), "program.py"]
        try:
            done = limited(words, tmp_path, least_bytes + more * MB)
        except subprocess.TimeoutExpired:
            continue  # Python 3.11 tries for ever to enter a handler if 32 bytes are too many
        said += done.stderr
        assert done.returncode in (0, 4) or b"MemoryError" in done.stderr, (more, done)
        assert b"elsewhere" not in done.stderr
        assert b"terminate called" not in done.stderr
        if done.returncode == 4:
            assert (done.stdout, done.stderr.count(b"\n")) == (b"", 1)
            assert not file.exists() or storage.read(file)
            assert b"address space" in done.stderr
            assert b"raise the limit" in done.stderr
        elif done.returncode == 0:
            assert done.stdout == b"ran\n"
    assert b"the writer thread could not be started: out of address space; raise the limit" in said
    assert b"the report cannot be made: out of address space: " in said


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "out of memory or address space"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "out of memory or address space"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "no more threads are allowed"),
        (OSError(errno.EAGAIN, "the writer thread could not be started: x"), "the writer thread could not"),
        (ImportError("a.so: failed to map segment from shared object"), "out of memory or address space"),
        (ImportError("a.so: failed to map segment from shared object: Operation not permitted"), None),
        (OSError(errno.ENOSPC, "No space left on device"), None),
        (ValueError("x"), None),
    ],
)
def test_what_ran_out(error: Exception, reason: str | None) -> None:
    found = scarcity.scarcity(error)
    assert (found is None) == (reason is None)
    assert found is None or (found[0].startswith(str(reason)) and "raise the limit" in found[1])


def test_a_command_needs_address_space_for_numpy(tmp_path: Path) -> None:
    limit = 100 * MB
    done = limited(["-m", "perfprobe", "report", "absent.perfprobe"], tmp_path, limit)
    assert done.returncode == EnvironmentLack.exit_code
    assert done.stderr.startswith(b"perfprobe: `perfprobe report` needs numpy: out of address space: ")
