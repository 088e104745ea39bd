"""No file, report or process that perfprobe makes shows a secret of the program's command line."""

import subprocess
import sys
from pathlib import Path

from perfprobe.tables import storage
from tests.collect.runs import finish, start

PROGRAM = """
import multiprocessing, os, subprocess, sys

def child():
    with open("/proc/self/cmdline", "rb") as file:
        print(b"S3CR3T" in file.read())

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    process = multiprocessing.Process(target=child)
    process.start()
    process.join()
    subprocess.run([sys.executable, "-ctoken = 'S3CR3T'"])
    os.system("TOKEN='S3CR3T' true")
    assert sys.argv[2] == "S3CR3T", "the program itself sees it"
"""
WORDS = ["--api-key", "S3CR3T", "--url=https://me:S3CR3T@host/x?sig=S3CR3T", "S3CR3T.txt"]


def test_nothing_that_is_written_holds_a_secret(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["-m", "perfprobe", "--json", "made.json", "-o", "made.perfprobe", "program.py", *WORDS[:-1]]
    ended = finish(start(words, tmp_path))
    assert (ended.status, ended.out.splitlines()[0]) == (0, b"False"), ended.err
    recordings = [*tmp_path.glob("**/*.perfprobe")]
    assert len(recordings) == 2  # with that of the child
    for path in recordings:
        assert storage.facts(str(path))["program"]["argv"][1:] == [
            "--api-key",
            "***",
            "--url=https://***@host/x?sig=***",
        ]
        exported = [sys.executable, "-m", "perfprobe", "export", "--format", "speedscope", str(path)]
        subprocess.run(exported, cwd=tmp_path, check=False, capture_output=True)
    shown = ended.out + ended.err + b"".join(file.read_bytes() for file in tmp_path.glob("**/*.json"))
    assert b"***" in shown
    assert b"S3CR3T" not in shown
    for path in recordings:
        assert "S3CR3T" not in str(storage.facts(str(path)))


def test_arguments_are_kept_if_asked_for(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("")
    words = ["-m", "perfprobe", "-q", "--keep-argv", "-o", "made.perfprobe", "program.py", *WORDS]
    assert finish(start(words, tmp_path)).status == 0
    assert storage.facts(str(tmp_path / "made.perfprobe"))["program"]["argv"][1:] == WORDS
