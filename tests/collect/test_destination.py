from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from perfprobe.collect import destination, own_folder
from perfprobe.support.errors import EnvironmentLack, PerfprobeError, UsageError
from perfprobe.tables import storage


class FakeRecorder:
    """Creates the file as the native recorder does."""

    def __init__(self, path: bytes, _buffer_bytes: int, **_options: bool) -> None:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def create(path: Path | str, *, named: bool) -> str:
    return destination.create(FakeRecorder, str(path), 1, named=named)[1]  # type: ignore[arg-type]


def test_names_contain_script_date_and_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = destination.default_path("train", None)
    assert re.fullmatch(rf"{tmp_path}/\.perfprobe/train-\d{{8}}-\d{{6}}-{os.getpid()}\.perfprobe", path)
    ranked = destination.default_path("train", {"rank": 3, "world_size": 4})
    host = re.escape(os.uname().nodename)
    name = rf"train-\d{{8}}-\d{{6}}-{host}-rank3-{os.getpid()}"
    assert re.fullmatch(rf"{tmp_path}/\.perfprobe/{name}\.perfprobe", ranked)


def test_each_rank_has_its_own_name() -> None:
    assert destination.with_rank("/x/out.perfprobe", {"rank": 1, "world_size": 2}) == "/x/out-rank1.perfprobe"
    assert destination.with_rank("/x/out", {"rank": 0, "world_size": 2}) == "/x/out-rank0"
    assert destination.with_rank("/x/out.perfprobe", {"rank": 0, "world_size": 1}) == "/x/out.perfprobe"
    assert destination.with_rank("/x/out.perfprobe", None) == "/x/out.perfprobe"


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    taken = tmp_path / "run.perfprobe"
    taken.write_text("precious")
    with pytest.raises(UsageError, match=f"exists already: {taken}"):
        create(taken, named=True)
    assert create(taken, named=False) == str(tmp_path / "run-2.perfprobe")
    assert create(taken, named=False) == str(tmp_path / "run-3.perfprobe")
    assert taken.read_text() == "precious"


@pytest.mark.parametrize(
    ("path", "kind", "words"),
    [
        ("absent/run.perfprobe", EnvironmentLack, "No such file.*create the folder"),
        ("file/run.perfprobe", EnvironmentLack, "Not a directory"),
        ("folder", UsageError, "this is a folder.*name a file in it"),
    ],
)
def test_an_unwritable_folder_is_reported(
    path: str, kind: type[PerfprobeError], words: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(kind, match=words):
        create(tmp_path / path, named=True)


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.ENAMETOOLONG]
)
def test_disk_errors_are_reported_in_one_line(number: int) -> None:
    def refuse(path: bytes, _buffer_bytes: int, **_options: bool) -> None:
        raise OSError(number, os.strerror(number), path)

    with pytest.raises(EnvironmentLack) as caught:
        destination.create(refuse, "/x/run.perfprobe", 1, named=False)  # type: ignore[arg-type]
    assert os.strerror(number) in str(caught.value)
    assert "/x/run.perfprobe" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_recordings_are_found_where_they_are_written() -> None:
    assert (destination.SUFFIX, own_folder.FOLDER) == (storage.SUFFIX, storage.FOLDER)
