"""Signals that come when the program has ended."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from perfprobe.tables import storage
from tests.collect.runs import finish, poisoned, start

# From 3.14 on, Python looks for signals after a SystemExit too.
EXITS = (-signal.SIGINT, "KeyboardInterrupt\n") if sys.version_info >= (3, 14) else (3, "")
ENDS: dict[str, tuple[str, int, int, str]] = {
    # the program, its exit code without a signal and with one right after its end
    "returns": ("print(1)", 0, -signal.SIGINT, "KeyboardInterrupt\n"),
    "exits": ("print(1); raise SystemExit(3)", 3, *EXITS),
    "fails": ("print(1); raise ValueError('own')", 1, 1, "ValueError: own\n"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_signal_when_the_program_has_ended_does_not_change_its_error(end: str, tmp_path: Path) -> None:
    source, _, status, last = ENDS[end]
    (tmp_path / "main.py").write_text(source)
    outcome = poisoned(
        "perfprobe.session.Session.end", "SIGINT", ["-q", "-o", "out.perfprobe", "main.py"], tmp_path
    )
    assert (outcome.status, outcome.out) == (status, b"1\n")
    assert outcome.err.decode().endswith(last)
    assert "perfprobe" not in outcome.err.decode().replace("out.perfprobe", "")
    storage.read(tmp_path / "out.perfprobe")


# The signal arrives while the last variable of the program is released, by C code.
AT_THE_END = """
import ctypes, weakref
class Last: pass
interrupt = ctypes.pythonapi.PyErr_SetInterrupt
interrupt.argtypes = [ctypes.py_object]
last = Last()
kept = weakref.ref(last, interrupt)
try:
    SOURCE
finally:
    last = None
"""


@pytest.mark.parametrize("end", ["exits", "fails"])
def test_plain_python_ends_in_the_same_way(end: str, tmp_path: Path) -> None:
    """Without perfprobe. (After a program that returns, it forgets the signal: nothing looks for it.)"""
    source, _, status, last = ENDS[end]
    (tmp_path / "main.py").write_text(AT_THE_END.replace("SOURCE", source))
    outcome = finish(start(["main.py"], tmp_path))
    assert (outcome.status, outcome.out) == (status, b"1\n")
    if sys.version_info >= (3, 12):  # earlier ones lose the message
        assert outcome.err.decode().endswith(last)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    "place", ["perfprobe.collect.host.package_versions", "perfprobe.cli.after.ReportChild._run"]
)
def test_a_signal_while_the_report_is_made_keeps_the_exit_code(end: str, place: str, tmp_path: Path) -> None:
    source, status, _, last = ENDS[end]
    last = last if end == "fails" else ""
    (tmp_path / "main.py").write_text(source)
    outcome = poisoned(place, "SIGINT", ["-o", "out.perfprobe", "main.py"], tmp_path)
    assert (outcome.status, outcome.out) == (status, b"1\n")
    assert outcome.err.decode().endswith(last)
    assert outcome.said == (f"perfprobe: interrupted; the recording is {tmp_path / 'out.perfprobe'}",)
    storage.read(tmp_path / "out.perfprobe")
