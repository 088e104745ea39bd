"""Files are written completely or not at all, and never through a link."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfprobe.support import files


def test_a_file_is_replaced_atomically(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"before, and longer")
    files.write(str(path), b"after")
    assert path.read_bytes() == b"after"
    assert os.listdir(tmp_path) == ["out.json"]


def test_its_mode_follows_the_umask(tmp_path: Path) -> None:
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


def test_an_existing_file_is_kept_if_requested(tmp_path: Path) -> None:
    path, link = tmp_path / "out", tmp_path / "link"
    assert files.write_new([str(path)], b"first") == str(path)
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        files.write_new([str(path), str(link)], b"second")
    assert path.read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == ["link", "out"]


@pytest.mark.parametrize("links", [True, False])
def test_the_first_free_name_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:  # a file system without links
        monkeypatch.setattr(os, "link", refuse)
    names = [str(tmp_path / name) for name in ("a", "b", "c")]
    for count in (1, 2):
        made = iter([b"one", b"", b"two"])  # an iterator, which can only be read once
        assert files.write_new(names, made) == names[count - 1]
        assert (tmp_path / "abc"[count - 1]).read_bytes() == b"onetwo"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def fails_half_way() -> Iterator[bytes]:
    yield b"begin" * 100_000
    raise RuntimeError("no more")


def test_a_failure_while_writing_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        files.write(str(tmp_path / "out"), fails_half_way())
    with pytest.raises(RuntimeError):
        files.write_new([str(tmp_path / "out")], fails_half_way())
    assert os.listdir(tmp_path) == []
    (tmp_path / "out").write_bytes(b"before")
    with pytest.raises(RuntimeError):
        files.write(str(tmp_path / "out"), fails_half_way())
    assert (tmp_path / "out").read_bytes() == b"before"


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


def test_dev_stdout_is_written_and_not_replaced(tmp_path: Path) -> None:
    with open(tmp_path / "redirected", "wb") as file:
        files.write(f"/proc/self/fd/{file.fileno()}", b"data")
    assert (tmp_path / "redirected").read_bytes() == b"data"


def test_a_disk_error_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        files.write(str(tmp_path / "out"), b"data")
    assert os.listdir(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        files.write(str(tmp_path / "nowhere" / "out"), b"data")
