"""Files are written whole, and never through a link."""

import os
import stat
import threading
from pathlib import Path

import pytest

from perfprobe.support import files


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"before, and longer")
    files.write(str(path), b"after")
    assert path.read_bytes() == b"after"
    assert os.listdir(tmp_path) == ["out.json"]


def test_its_mode_is_that_of_any_new_file(tmp_path: Path) -> None:
    plain, written = tmp_path / "plain", tmp_path / "out"
    plain.touch()
    files.write(str(written), b"")
    assert stat.S_IMODE(written.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.parametrize("target", ["victim", "missing"])
def test_a_planted_link_is_replaced(tmp_path: Path, target: str) -> None:
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "out").symlink_to(tmp_path / target)
    files.write(str(tmp_path / "out"), b"new")
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert not (tmp_path / "missing").exists()
    assert not (tmp_path / "out").is_symlink()
    assert (tmp_path / "out").read_bytes() == b"new"


def test_a_file_that_is_there_is_kept_where_told(tmp_path: Path) -> None:
    path = tmp_path / "out"
    files.write(str(path), b"first", replace=False)
    for planted in (path, tmp_path / "link"):
        if planted != path:
            planted.symlink_to(tmp_path / "nowhere")
        with pytest.raises(FileExistsError):
            files.write(str(planted), b"second", replace=False)
    assert path.read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == ["link", "out"]


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    files.write(str(pipe), b"data")
    reader.join()
    assert found == [b"data"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_standard_output_by_its_name_is_no_file_to_replace(tmp_path: Path) -> None:
    with open(tmp_path / "redirected", "wb") as file:
        files.write(f"/proc/self/fd/{file.fileno()}", b"data")
    assert (tmp_path / "redirected").read_bytes() == b"data"


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        files.write(str(tmp_path / "out"), b"data")
    assert os.listdir(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        files.write(str(tmp_path / "nowhere" / "out"), b"data")
