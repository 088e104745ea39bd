"""Profiles of cProfile by this Python and others, compared with what pstats reads."""

import contextlib
import cProfile
import glob
import json
import marshal
import os
import pstats
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perfprobe.read import pstats as reader
from perfprobe.read.marshalled import Reader
from perfprobe.support.errors import InputError
from perfprobe.tables.opened import OpenedFile
from perfprobe.tables.python import Calls, Functions
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.read.test_marshalled import plain

Stats = dict[Any, Any]

PROGRAM = """
import json
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Rows:
    def größe(self): return [json.dumps({"a": i}) for i in range(20)]
fib(8), Rows().größe()
"""


def profiled(path: Path) -> Stats:
    """Profiles a function here; returns the contents as read by pstats."""

    def fib(n: int) -> int:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    profile = cProfile.Profile()
    profile.runcall(lambda: (fib(9), json.dumps([{"ü": i} for i in range(9)])))
    profile.dump_stats(path)
    return stats_of(path)


def stats_of(path: Path) -> Stats:
    return pstats.Stats(str(path)).stats  # type: ignore[attr-defined]


def rebuilt(recording: Recording) -> Stats:
    """The dict from which the recording was made, rebuilt from its tables."""
    functions, strings = recording[Functions], recording[Strings]
    columns = [column.tolist() for column in functions.columns().values()]
    stats: Stats = {}
    keys = []
    for _, _, file, name, line, calls, primitive, own_ns, total_ns in zip(*columns, strict=True):
        keys.append((strings[file] if file >= 0 else "~", line, strings[name]))
        stats[keys[-1]] = (primitive, calls, own_ns, total_ns, {})
    columns = [column.tolist() for column in recording[Calls].columns().values()]
    for _, caller, callee, *figures in zip(*columns, strict=True):
        stats[keys[callee]][4][keys[caller]] = tuple(figures)
    return stats


def in_ns(stats: Stats) -> Stats:
    """Converts the seconds of pstats to nanoseconds."""
    return {
        key: (*rounded(figures), {caller: rounded(times) for caller, times in callers.items()})
        for key, (*figures, callers) in stats.items()
    }


def rounded(figures: Sequence[Any]) -> tuple[int, ...]:
    calls, primitive, own, total = figures
    return calls, primitive, round(own * 1e9), round(total * 1e9)


def test_all_contents_are_read(tmp_path: Path) -> None:
    path = tmp_path / "p.pstats"
    stats = profiled(path)
    assert reader.is_pstats(OpenedFile(path))
    assert rebuilt(reader.read(path)) == in_ns(stats)


def pythons() -> list[str]:
    """This Python, those of the system, and those that the environment names."""
    named = os.environ.get("PERFPROBE_PYTHONS", "").split(os.pathsep)
    return [sys.executable, *sorted(glob.glob("/usr/bin/python3.[0-9]*[0-9]")), *filter(None, named)]


@pytest.mark.parametrize("python", pythons())
def test_profiles_of_several_pythons(python: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    path = tmp_path / "p.prof"
    subprocess.run([python, "-m", "cProfile", "-o", path, "program.py"], cwd=tmp_path, check=True)
    data = path.read_bytes()
    assert plain(Reader(data).whole()) == marshal.loads(data)
    assert rebuilt(reader.read(path)) == in_ns(stats_of(path))


def test_an_empty_profile(tmp_path: Path) -> None:
    path = tmp_path / "p.pstats"
    path.write_bytes(marshal.dumps({}))
    assert reader.is_pstats(OpenedFile(path))
    assert len(reader.read(path)[Functions]) == 0


@pytest.mark.parametrize(
    "data", [b"", b"{", b"PERFPROBE\n", b'{"a": 1}', b"{}", b"()", b"import os\n", b"\x80\x04."]
)
def test_other_contents_are_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    assert not reader.is_pstats(OpenedFile(tmp_path / "f"))


KEY = ("a.py", 1, "f")


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({KEY: 5}, "written by the module `profile`"),
        ({KEY: (1, 1, 0.0, 0.0, {KEY: 1})}, "written by the module `profile`"),
        ({KEY: (1, 1, 0.0, 0.0)}, "does not have 5 figures"),
        ({KEY: (1, 1, 0.0, 0.0, ())}, "expected a dict"),
        ({("a.py", "f"): (1, 1, 0.0, 0.0, {})}, "not (file, line, name)"),
        ({("a.py", "1", "f"): (1, 1, 0.0, 0.0, {})}, "not (file, line, name)"),
        ({("a.py", 2**31, "f"): (1, 1, 0.0, 0.0, {})}, "line number"),
        ({KEY: (1, -1, 0.0, 0.0, {})}, "call count"),
        ({KEY: (1, 1.0, 0.0, 0.0, {})}, "call count"),
        ({KEY: (1, 2**62, 0.0, 0.0, {})}, "call count"),
        ({KEY: (1, 1, float("nan"), 0.0, {})}, "time is not a number"),
        ({KEY: (1, 1, -1.0, 0.0, {})}, "time is not a number"),
        ({KEY: (1, 1, 1e30, 0.0, {})}, "time is not a number"),
        ({KEY: (1, 1, "0", 0.0, {})}, "time is not a number"),
        ({KEY: (1, 1, 0.0, 0.0, {("b.py", 1, "g"): (1, 1, 0.0, 0.0)})}, "unknown caller"),
        ({KEY: (1, 1, 0.0, 0.0, {KEY: (1, 1, 0.0, [])})}, "unknown type code"),
        ([], "expected a dict"),
        (KEY, "expected a dict"),
    ],
)
def test_wrong_values_are_refused(value: Any, fault: str, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(marshal.dumps(value))
    with pytest.raises(InputError, match="cProfile -o") as caught:
        reader.read(tmp_path / "p")
    assert fault in str(caught.value)


def test_damaged_profiles_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "p"
    profiled(path)
    data = path.read_bytes()
    rng = random.Random(3)
    for _ in range(500):
        at = rng.randrange(len(data))
        for harmed in (data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :], data[:at]):
            path.write_bytes(harmed)
            with contextlib.suppress(InputError):
                reader.read(path)


def test_unreadable_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "pipe", "."):
        with pytest.raises(InputError, match="cannot read the recording"):
            reader.read(tmp_path / name)
    profiled(tmp_path / "p")
    monkeypatch.setattr(reader, "MOST_BYTES", 100)
    with pytest.raises(InputError, match="larger than"):
        reader.read(tmp_path / "p")
