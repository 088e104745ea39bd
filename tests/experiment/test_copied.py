"""Copies of a program's folder: what is in them, and that the original stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perfprobe.experiment import copied
from perfprobe.experiment.copied import copy, files_in, folder, moved
from perfprobe.support.errors import InputError, UsageError
from tests.snapshots import Snapshot

FILES = ("data/a.txt", "data/deep/b.txt", "train.py")


def made(place: Path) -> Path:
    top = place / "mine"
    for name in (
        "train.py",
        "data/a.txt",
        "data/deep/b.txt",
        "__pycache__/x.pyc",
        "env/pyvenv.cfg",
        "env/lib.py",
    ):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name)
    (top / "empty").mkdir()
    (top / "link.txt").symlink_to(top / "data/a.txt")
    (top / "deep").symlink_to("data/deep")
    os.mkfifo(top / "pipe")
    return top


def test_a_copy_has_files_folders_and_links_that_stay_inside(tmp_path: Path) -> None:
    top, target = made(tmp_path), tmp_path / "copy"
    source = folder(str(top), [])
    copy(source, str(target))
    assert sorted(files_in(str(target))) == ["data/a.txt", "data/deep/b.txt", "link.txt", "train.py"]
    assert (target / "empty").is_dir()
    assert (target / "link.txt").resolve() == (target / "data/a.txt").resolve()
    assert (target / "deep").resolve() == (target / "data/deep").resolve()
    assert source.size_bytes == sum(map(len, FILES))
    with open(target / "data/a.txt", "a") as file:
        file.write("more")
    assert (top / "data/a.txt").read_text() == "data/a.txt"


def test_data_may_be_linked(tmp_path: Path) -> None:
    top, target = made(tmp_path), tmp_path / "copy"
    copy(folder(str(top), ["data/deep"]), str(target))
    assert (target / "data/deep").is_symlink()
    assert (target / "data/deep/b.txt").read_text() == "data/deep/b.txt"
    with pytest.raises(UsageError):
        folder(str(top), ["none"])


def test_links_that_leave_the_folder_are_refused_unless_they_are_named(tmp_path: Path) -> None:
    top = made(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (top / "outside").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="--link outside"):
        folder(str(top), [])
    copy(folder(str(top), ["outside"]), str(tmp_path / "copy"))
    assert (tmp_path / "copy/outside").resolve() == tmp_path / "elsewhere"


def test_a_folder_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot
) -> None:
    monkeypatch.setattr(copied, "MOST_BYTES", 10)
    with pytest.raises(InputError) as raised:
        folder(str(made(tmp_path)), [])
    snapshot(f"{raised.value}\n".replace(str(tmp_path), "FOLDER"))


def test_paths_in_arguments_are_those_of_the_copy(tmp_path: Path) -> None:
    top = made(tmp_path)
    source = folder(str(top), [])
    words = (str(top / "train.py"), "--data", "data", str(tmp_path / "mine2"))
    assert moved(("../mine/train.py", "../none"), source, "/copy") == (str(top / "train.py"), "../none")
    assert moved(words, source, "/copy") == ("/copy/train.py", "--data", "data", str(tmp_path / "mine2"))
