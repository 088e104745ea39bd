"""Each recording of a child process is opened only once."""

from pathlib import Path

import pytest

from perfprobe.support.errors import InputError
from perfprobe.tables.children import ChildRecordings
from tests.build import Program


def test_each_recording_is_read_once_whatever_its_path_looks_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "4711.perfprobe"
    path.write_bytes(Program().encode())
    monkeypatch.chdir(tmp_path)
    found = ChildRecordings()
    assert found.open(path.name) is found.open(str(path))


def test_a_damaged_recording_is_an_error_each_time(tmp_path: Path) -> None:
    path = tmp_path / "4711.perfprobe"
    path.write_bytes(b"something else")
    found = ChildRecordings()
    for _ in range(2):
        with pytest.raises(InputError):
            found.open(str(path))
