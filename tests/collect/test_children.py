"""Children that are not recorded are counted; children that are recorded are named."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.collect.runs import command, finish, perfprobe, start
from tests.snapshots import Snapshot


def report(folder: Path, source: str, *words: str) -> dict[str, Any]:
    """The JSON report on a program. Standard error is under the key `text`."""
    (folder / "program.py").write_text(dedent(source))
    given = words or ("program.py",)
    outcome = perfprobe(["--full", "-o", "run.perfprobe", "--json", "run.json", *given], folder)
    assert outcome.status == 0, outcome.err
    document: dict[str, Any] = json.loads((folder / "run.json").read_bytes())
    return {**document, "text": " ".join(outcome.err.decode().split())}


def lost(document: dict[str, Any]) -> dict[str, tuple[int, str]]:
    rows = [row for row in document["missing"] if row["source"] == "processes"]
    return {row["reason"]: (row["count"], row["remedy"]) for row in rows}


def lost_lines(document: dict[str, Any]) -> str:
    return "\n".join(f"{count} {reason}: {remedy}" for reason, (count, remedy) in lost(document).items())


def test_every_way_to_start_a_process_is_counted(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "child.py").write_text("import sys, time; time.process_time() > 0 and print(sys.argv[1:])")
    document = report(
        tmp_path,
        f"""
        import os, subprocess, sys
        for number in range(3):
            subprocess.run([sys.executable, "-u", "child.py", "--token", str(number)], check=True)
        subprocess.run("exec true && {sys.executable} child.py", shell=True)
        os.system("{sys.executable} child.py x")
        os.popen("true").read()
        os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)
        subprocess.Popen(["true"], close_fds=False).wait()  # may go through posix_spawn
        subprocess.run([sys.executable, "-m", "perfprobe", "-q", "child.py"], check=True)
        """,
    )
    assert [count for count, _ in lost(document).values()] == [4, 1, 3]
    assert document["meta"]["children"]["cpu_ns"] >= 10_000_000  # five interpreters, by the kernel's count
    assert "CPU of" in document["text"]
    said = re.search(r"\d+ child processes were not recorded: .* To record them: .*?\.\.\.", document["text"])
    assert said is not None
    snapshot(lost_lines(document), text=said[0])


def test_next_is_to_record_the_child_that_did_the_work(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "child.py").write_text("import time\nwhile time.process_time() < 1: pass\n")
    source = "import subprocess, sys; subprocess.run([sys.executable, 'child.py'], check=True)"
    screen = report(tmp_path, source)["tables"]["first_screen"]
    (command,) = (row["text"] for row in screen if row["label"] == "NEXT")
    snapshot(command)


def test_a_launchers_children_are_recorded_through_it(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "train.py").write_text("import os; print(os.environ['RANK'])")
    words = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py")
    document = report(tmp_path, "", *words)
    lines = [line for line in lost_lines(document).splitlines() if "train.py" in line]
    said = re.search(r"\d+ child processes were not recorded: python train.py.", document["text"])
    assert said is not None
    snapshot("\n".join(lines), text=said[0])


def test_a_killed_program_has_recorded_what_it_started(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import subprocess, sys, time\n"
        "for _ in range(5): subprocess.run([sys.executable, '-c', '1'])\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = start(["-m", "perfprobe", "-q", "-o", "run.perfprobe", "program.py"], tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGKILL)
    finish(process)
    document = json.loads(command(["report", "--json", "run.perfprobe"], tmp_path).out)
    ((processes, _),) = (found for reason, found in lost(document).items() if "-c CODE" in reason)
    assert processes >= 4


SPAWNS = """
import multiprocessing, time
def inner(): time.sleep(0.01)
def work(deeper):
    if deeper:
        run(inner)
def run(target, *args):
    child = multiprocessing.get_context("spawn").Process(target=target, args=args)
    child.start(); child.join()
if __name__ == "__main__":
    run(work, False)
    run(work, True)
"""


def test_recordings_of_children_are_named_and_read_together(tmp_path: Path, snapshot: Snapshot) -> None:
    document = report(tmp_path, SPAWNS, "--detail", "bench", "--buffer", "8M", "program.py")
    names = {os.path.basename(row["recording"]) for row in document["tables"]["children"]}
    folder = tmp_path / "run-children"
    (folder / "99999.perfprobe").write_bytes(b"PERFPROBE\n\x01\x00")  # of another program, ignored silently
    assert {*names, "99999.perfprobe"} == {path.name for path in folder.glob("*.perfprobe")}
    assert len(names) == 3
    assert lost(document) == {}
    assert "recordings 3, in" in document["text"]
    assert all(name in document["text"] for name in names)

    paths = [f"run-children/{name}" for name in names]
    texts = command(["report", "--full", "run.perfprobe", *paths], tmp_path)
    assert texts.status == 0
    assert texts.out.count(b"\nEnvironment\n") == 4
    assert [line for line in texts.out.splitlines() if line.startswith(b"== ")] == [
        f"== {name}".encode() for name in ("run.perfprobe", *paths)
    ]
    documents = json.loads(command(["report", "--json", "run.perfprobe", *paths], tmp_path).out)
    assert [found["schema"] for found in documents] == [1] * 4
    options = [found["meta"]["recording"] for found in documents]
    assert options[0] == {**options[1], "detail": "bench", "buffer_bytes": 8 << 20}
    assert options[1:] == [{**options[0], "buffer_bytes": 4 << 20}] * 3

    for name in names:
        (folder / name).unlink()
    again = json.loads(command(["report", "--json", "run.perfprobe"], tmp_path).out)
    snapshot(lost_lines(again))


def test_one_of_several_files_may_be_bad(tmp_path: Path) -> None:
    report(tmp_path, "pass")
    (tmp_path / "none.perfprobe").write_text("not a recording")
    outcome = command(["report", "run.perfprobe", "none.perfprobe"], tmp_path)
    assert outcome.status == 3
    assert b"== run.perfprobe" in outcome.out
    assert len(outcome.said) == 1


def test_a_block_counts_children_that_it_cannot_follow(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import multiprocessing, perfprobe\n"
        "if __name__ == '__main__':\n"
        "    for number in range(3):\n"
        "        with perfprobe.profile(f'{number}.perfprobe'):\n"
        "            for _ in range(number):\n"
        "                child = multiprocessing.get_context('spawn').Process(target=print)\n"
        "                child.start(); child.join()\n"
    )
    assert finish(start(["program.py"], tmp_path)).status == 0
    for number in range(3):
        document = json.loads(command(["report", "--json", f"{number}.perfprobe"], tmp_path).out)
        reason = "child processes were not recorded: spawned by multiprocessing"
        assert lost(document).get(reason, (0, ""))[0] == number
    assert len(list(tmp_path.glob("*.perfprobe"))) == 3
