"""`perfprobe threads`: the section, the picture, and a sweep of a program whose best setting is known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from perfprobe.cli import main
from perfprobe.cli.threads import commands
from perfprobe.report.picture.threads import edges_ns, mean_of
from perfprobe.tables.teams import Teams
from tests.analyse.test_teams import CROWDED, HEALTHY, MS, found, program, run
from tests.snapshots import Snapshot

# Twice as fast with one thread as with any other number.
SLEEPS = """
import os, sys, time
print("not shown")
if "fail" in sys.argv:
    sys.exit("it is broken: " + " ".join(sys.argv[2:]))
time.sleep(0.1 if os.environ.get("OMP_NUM_THREADS") == "1" else 0.6)
"""


def made(folder: Path) -> str:
    crowded = program(CROWDED, team=6)
    run(crowded, "aten::mm", 1)
    return crowded.recording(folder).path


def test_a_recording(tmp_path: Path, snapshot: Snapshot, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path)
    assert main(["threads", path]) == 0
    out = capsys.readouterr().out
    assert main(["threads", path, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (problem,) = document["tables"]["thread_problems"]
    assert (problem["problem"], problem["threads"], problem["line"]) == ("oversubscription", 6, 7)
    assert {row["utilisation"] for row in document["tables"]["utilisation"]} >= {"idle", "over"}
    assert document["tables"]["operator_teams"][0]["operator"] == "aten::mm"
    snapshot(out)


def test_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "threads.svg"
    assert main(["threads", made(tmp_path), "--plot", str(picture)]) == 0
    assert "allowed cores: 2" in picture.read_text()


def test_the_picture_shows_means_of_time(tmp_path: Path) -> None:
    healthy = program(HEALTHY, busy=1900)
    run(healthy, "aten::mm", 0.5)
    teams = found(healthy, tmp_path)[Teams]
    edges = edges_ns(teams)
    assert (edges[0], edges[-1]) == (0, 4000 * MS)
    assert np.allclose(mean_of(teams, teams.active.active_ppm, edges), 1.5)


def swept(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(SLEEPS)
    command = [sys.executable, "-m", "perfprobe", "threads", "--sweep", "1,2", "--rounds", "5", *words]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_sweep_finds_the_setting_that_is_faster(tmp_path: Path) -> None:
    ended = swept(tmp_path, "--", "program.py")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "export OMP_NUM_THREADS=1" in ended.stdout
    assert "not shown" not in ended.stdout
    assert os.listdir(tmp_path) == ["program.py"]


def test_a_program_that_fails_ends_the_sweep_with_its_last_words(tmp_path: Path, snapshot: Snapshot) -> None:
    ended = swept(tmp_path, "--", "program.py", "fail", "--token", "S3CR3T")
    assert ended.returncode == 3
    assert "S3CR3T" not in ended.stderr
    snapshot(ended.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ["--sweep", "1,2"],
        ["--commands"],
        ["--sweep", "1", "--commands", "--", "x.py"],
        ["--", "x.py"],
        ["--rounds", "3"],
        ["a.perfprobe", "--sweep", "1", "--", "x.py"],
        ["a.perfprobe", "b.perfprobe"],
        ["--sweep", "fast", "--", "x.py"],
        ["--sweep", "1", "--workers", "2", "--", "x.py"],
    ],
)
def test_words_that_make_no_sense(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["threads", *words]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_commands_quote_the_programs_words(snapshot: Snapshot) -> None:
    text = commands(["train.py", "--name", "a b", "{x}"])
    assert "train.py --name 'a b' '{x}'" in text
    assert {line.split()[0] for line in text.splitlines() if not line.startswith(" ")} == {
        "vtune",
        "nsys",
        "perf",
    }
    snapshot(text)


def test_secrets_are_masked_in_commands(snapshot: Snapshot) -> None:
    text = commands(["train.py", "--token", "S3CR3T"])
    assert "S3CR3T" not in text
    snapshot(text.splitlines()[0])
