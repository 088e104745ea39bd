"""The title of a started process, and the command that would record it."""

import sys
from pathlib import Path

import pytest

from perfprobe.collect.commands import LONGEST, command, launcher_of
from perfprobe.merge.children import lost_children
from perfprobe.read.children import children
from perfprobe.tables.children import Children
from perfprobe.tables.storage import read
from tests.collect.runs import finish, start
from tests.snapshots import Snapshot


@pytest.mark.parametrize(
    ("line", "kind", "text", "recipe"),
    [
        ("python train.py --token X", "python", "python train.py", "python -m perfprobe train.py ..."),
        ("/usr/bin/python3.12 -u -W error -m pkg.train 3", "python", "python -m pkg.train", None),
        ("python -u t.py", "python", "python t.py", "python -u -m perfprobe t.py ..."),
        (f"{sys.executable} -X dev t.py", "python", "python t.py", "python -X dev -m perfprobe t.py ..."),
        ("A=1 env B=/x python t.py", "python", "python t.py", "python -m perfprobe t.py ..."),
        ("python", "python", "python", "python -m perfprobe script.py ..."),
        ("torchrun --nproc-per-node 2 t.py", "launcher", "torchrun", "torchrun ... -m perfprobe train.py"),
        ("python -m torch.distributed.run t.py", "launcher", "torch.distributed.run", None),
        ("g++ -O3 x.cpp", "other", "g++", ""),
        ("/usr/bin/nvidia-smi", "other", "nvidia-smi", ""),
        ("./train.sh", "other", "train.sh", ""),
        ("", "other", "(empty)", ""),
    ],
)
def test_the_title_of_a_command_line(line: str, kind: str, text: str, recipe: str | None) -> None:
    found = command(line.split())
    assert (found.kind, found.text) == (kind, text)
    assert recipe is None or found.recipe(None) == recipe
    assert not found.records_itself


@pytest.mark.parametrize(
    ("words", "text", "recipe"),
    [
        (["python", "-c", "login('S3CR3T')"], "python -c CODE", "python -m perfprobe -c CODE ..."),
        (["python", "-clogin('S3CR3T')"], "python -c CODE", "python -m perfprobe -c CODE ..."),
        (["python", "-uc", "login('S3CR3T')"], "python -c CODE", "python -u -m perfprobe -c CODE ..."),
        (["python", "-mtrain", "--token", "S3CR3T"], "python -m train", "python -m perfprobe -m train ..."),
        (["python", "-Im", "train", "S3CR3T"], "python -m train", "python -I -m perfprobe -m train ..."),
        (["python", "-mtorch.distributed.run", "S3CR3T"], "torch.distributed.run", None),
        (["sh", "-c", "API_KEY='S3CR3T' curl host"], "a shell", ""),
        (["sh", "-c", "API_KEY=S3CR3T curl host"], "curl", ""),
        (["curl -H Token:S3CR3T https://host/S3CR3T"], "curl", ""),
        (["TOKEN=S3CR3T/S3CR3T", "curl"], "curl", ""),
        (["  "], "", ""),
    ],
)
def test_code_and_arguments_are_not_kept(words: list[str], text: str, recipe: str | None) -> None:
    found = command(words)
    assert found.text == text
    assert recipe is None or found.recipe(None) == recipe
    assert "S3CR3T" not in found.text + found.recipe(None)


@pytest.mark.parametrize(
    ("text", "kind", "named"),
    [
        ("python t.py", "python", "python t.py"),
        ("cd x && python3 t.py > log", "shell", "a shell with python in it"),
        ("uname > /dev/null", "other", "uname"),
        ("ls | grep pythonic", "other", "ls"),
        ("", "other", "(empty)"),
    ],
)
def test_the_title_of_a_shell_command(text: str, kind: str, named: str) -> None:
    found = command(["/bin/sh", "-c", text])
    assert (found.kind, found.text) == (kind, named)


@pytest.mark.parametrize(
    "line", ["python -m perfprobe t.py", "perfprobe t.py", "env/bin/python -u -m perfprobe t.py"]
)
def test_starting_perfprobe_is_no_loss(line: str) -> None:
    assert command(line.split()).records_itself


def test_processes_of_torch_compile_are_recognized(tmp_path: Path, snapshot: Snapshot) -> None:
    folder = tmp_path / "torch" / "_inductor"
    folder.mkdir(parents=True)
    (folder / "isa.py").write_text(
        "import subprocess, sys\ndef check(): subprocess.run([sys.executable, '-S', '-c', ''])\n"
    )
    (tmp_path / "p.py").write_text(
        "import subprocess, sys\nsys.path.insert(0, 'torch/_inductor')\nimport isa\n"
        "isa.check()\nisa.check()\n"
        "subprocess.run([sys.executable, '-S', '-c', ''])\n"
    )
    words = ["-m", "perfprobe", "-q", "--python", "off", "--operators", "off", "-o", "made.perfprobe", "p.py"]
    assert finish(start(words, tmp_path)).status == 0
    (own, of_compiler) = sorted(
        children(read(tmp_path / "made.perfprobe")).lost, key=lambda row: row.processes
    )
    assert (own.command, own.is_python, own.is_of_compiler) == ("python -c CODE", True, False)
    assert (of_compiler.command, of_compiler.processes, of_compiler.recipe) == ("python -c CODE", 2, "")
    assert of_compiler.is_of_compiler
    assert not of_compiler.is_python
    reasons = dict.fromkeys(loss.reason[0] for loss in lost_children(Children(lost=(own, of_compiler))))
    snapshot("\n".join(reasons))


def test_the_remedy_for_a_launcher_names_the_launcher(snapshot: Snapshot) -> None:
    launcher = launcher_of("torch.distributed.run", "")
    assert launcher_of("", "/env/bin/torchrun") == "torchrun"
    assert launcher_of("pkg.train", "train.py") is None
    snapshot(command(["python", "-u", "t.py"]).recipe(launcher))


def test_a_long_title_is_cut() -> None:
    assert len(command(["python", "x" * 500]).text) == LONGEST
