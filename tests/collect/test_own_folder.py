"""`.perfprobe/`, where recordings go that the user did not name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.collect import own_folder
from perfprobe.collect.destination import create
from perfprobe.tables import storage
from tests.collect.runs import finish, perfprobe, start


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("import sys\nprint('ran')\n")
    return tmp_path


def test_the_first_recording_makes_the_folder_and_hides_it_from_git(script: Path) -> None:
    for _ in range(2):
        assert perfprobe(["-q", "train.py"], script).status == 0
    assert sorted(os.listdir(script)) == [".perfprobe", "train.py"]
    assert (script / ".perfprobe/.gitignore").read_text() == "*\n!history.jsonl\n"
    assert len(list(script.glob(".perfprobe/train-*.perfprobe"))) == 2
    subprocess.run(["git", "init", "-q"], cwd=script, check=True)
    status = subprocess.run(["git", "status", "--short"], cwd=script, capture_output=True, check=True)
    assert status.stdout == b"?? train.py\n"


def test_a_gitignore_that_the_user_removed_stays_removed(script: Path) -> None:
    (script / ".perfprobe").mkdir()
    perfprobe(["-q", "train.py"], script)
    assert len(os.listdir(script / ".perfprobe")) == 1


def test_the_folder_is_that_in_which_the_program_began(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    source = "import os, perfprobe\nos.chdir('elsewhere')\n"
    (tmp_path / "train.py").write_text(source)
    outcome = perfprobe(["-q", "train.py"], tmp_path)
    (recording,) = tmp_path.glob(".perfprobe/*.perfprobe")
    assert [line.rpartition(" ")[2] for line in outcome.said] == [str(recording)]
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_block_writes_there_too(tmp_path: Path) -> None:
    block = "import perfprobe\nwith perfprobe.profile(operators='off') as p: pass\nprint(p.path)\n"
    (tmp_path / "block.py").write_text(block)
    outcome = finish(start(["block.py"], tmp_path))
    (recording,) = tmp_path.glob(".perfprobe/block-*.perfprobe")
    assert outcome.out.decode() == f"{recording}\n"
    assert storage.read(recording).complete


def test_children_and_ranks_write_beside_it(tmp_path: Path) -> None:
    source = "import multiprocessing\n"
    source += "if __name__ == '__main__':\n"
    source += "    for method in ('fork', 'spawn'):\n"
    source += "        child = multiprocessing.get_context(method).Process(target=print)\n"
    source += "        child.start(); child.join()\n"
    (tmp_path / "train.py").write_text(source)
    variables = [{"RANK": rank, "WORLD_SIZE": "2"} for rank in ("0", "1")]
    running = [start(["-m", "perfprobe", "-q", "train.py"], tmp_path, given) for given in variables]
    assert [finish(each).status for each in running] == [0, 0]
    assert sorted(os.listdir(tmp_path)) == [".perfprobe", "train.py"]
    names = [name for name in os.listdir(tmp_path / ".perfprobe") if name.endswith(".perfprobe")]
    assert sorted(re.findall(r"-rank\d-", " ".join(names))) == ["-rank0-", "-rank1-"]
    for name in names:
        folder = tmp_path / ".perfprobe" / f"{name.removesuffix('.perfprobe')}-children"
        assert len(list(folder.glob("*.perfprobe"))) == 2


def test_many_runs_at_once_each_have_a_recording(script: Path) -> None:
    running = [start(["-m", "perfprobe", "-q", "train.py"], script) for _ in range(6)]
    outcomes = [finish(each) for each in running]
    assert {(each.status, each.out, each.err) for each in outcomes} == {(0, b"ran\n", b"")}
    assert len({each.said for each in outcomes}) == 6
    assert len(list(script.glob(".perfprobe/*.perfprobe"))) == 6


@pytest.mark.parametrize("made", ["file", "link to a folder", "link to nothing"])
def test_a_file_or_link_in_its_place_is_one_line(
    made: str, script: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    place = script / ".perfprobe"
    if made == "file":
        place.write_text("precious")
    else:
        place.symlink_to(outside if made == "link to a folder" else "/nowhere")
    outcome = perfprobe(["train.py"], script)
    kind = "file" if made == "file" else "link"
    assert (outcome.status, outcome.out, outcome.err) == (4, b"", b"")
    (line,) = outcome.said
    assert f"is a {kind}," in line
    assert os.listdir(outside) == []
    assert perfprobe(["-q", "-o", "run.perfprobe", "train.py"], script).status == 0


def test_a_full_disk_leaves_no_folder(script: Path) -> None:
    command = f"ulimit -f 0; exec '{sys.executable}' -m perfprobe train.py"
    done = subprocess.run(["bash", "-c", command], cwd=script, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (4, b"", 1)
    assert b"the recording cannot be written (File too large)" in done.stderr
    assert os.listdir(script) == ["train.py"]


NOT_STARTED = {
    "no file": ["absent.py"],
    "a script": ["bad.py"],
    "code": ["-c", "x ="],
    "no module": ["-m", "absent"],
    "no module in a package": ["-m", "package.absent"],
    "a package": ["-m", "package"],
    "a module": ["-m", "bad"],
    "a module of a package": ["-m", "package.bad"],
    "an archive": ["archive"],
}


@pytest.mark.parametrize("words", NOT_STARTED.values(), ids=NOT_STARTED)
@pytest.mark.parametrize("options", [[], ["-o", "run.perfprobe"]], ids=["default", "named"])
def test_a_program_that_does_not_start_leaves_no_recording(
    words: list[str], options: list[str], tmp_path: Path
) -> None:
    """Its messages and exit code are python's."""
    (tmp_path / "package").mkdir()
    (tmp_path / "archive").mkdir()
    for name in ("package/__init__.py", "package/bad.py", "bad.py", "archive/__main__.py"):
        (tmp_path / name).write_text("" if name.endswith("__init__.py") else "x = = 1\n")
    before = {path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts}
    plain = start(words, tmp_path)
    recorded = start(["-m", "perfprobe", *options, *words], tmp_path)
    assert finish(recorded) == finish(plain)
    assert {path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts} == before


@pytest.mark.parametrize(
    ("words", "status"),
    [(["fails.py"], 1), (["-m", "fails"], 1), (["-m", "package.leaves"], 3), (["-m", "package.text"], 1)],
)
def test_a_program_that_started_leaves_one(words: list[str], status: int, tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import absent_module\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package/leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "package/text.py").write_text("import sys\nsys.exit('a text, as that of runpy')\n")
    assert perfprobe(["-q", *words], tmp_path).status == status
    assert len(list(tmp_path.glob(".perfprobe/*.perfprobe"))) == 1


def test_the_folder_is_only_removed_if_it_is_empty(tmp_path: Path) -> None:
    folder = tmp_path / ".perfprobe"
    own_folder.make_folder_of(str(folder / "a.perfprobe"))
    (folder / "note.txt").touch()
    own_folder.remove_if_empty(str(folder))
    assert sorted(os.listdir(folder)) == [".gitignore", "note.txt"]
    (folder / "note.txt").unlink()
    own_folder.remove_if_empty(str(folder))
    assert os.listdir(tmp_path) == []


def test_another_run_may_remove_the_empty_folder_at_any_time(tmp_path: Path) -> None:
    path, rounds = tmp_path / ".perfprobe/a.perfprobe", iter([True, True, False])

    def recorder(file: bytes, _buffer_bytes: int, **_options: bool) -> None:
        if next(rounds):
            own_folder.remove_if_empty(str(path.parent))
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY))

    create(recorder, str(path), 1, named=False)  # type: ignore[arg-type]
    assert path.exists()
    assert (path.parent / ".gitignore").exists()
