"""README and guides: what they show exists, and their commands work. `make guides` builds them."""

from __future__ import annotations

import cProfile
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from glob import glob
from pathlib import Path

import pytest

from docs import examples
from perfprobe import words
from perfprobe.bench import measure
from perfprobe.bench.ceilings import cache
from perfprobe.cli import COMMANDS, main, module
from perfprobe.cli.options import PROGRAM_OPTIONS
from perfprobe.support.views import VIEWS
from perfprobe.tables.measurements import Measurements
from tests.analyse import test_ranks as ranks
from tests.bench.machines import machine
from tests.once import Once
from tests.report.measured import bmm

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.slow
PAGES = [
    ROOT / "README.md",
    ROOT / "perfprobe/SKILL.md",
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in ("format.md", "tables.md")),
]
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.txt"))
_MADE = re.compile(r"<!-- made: .*?<!-- end -->", re.DOTALL)
_FENCED = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+(?![\w-])")
# Options of other programs that the text mentions.
_OF_OTHERS = {
    "--countname",
    "--target",
    "--nproc-per-node",
    "--cache-control",
    "--cap-add",
    "--site",
    "--token",
    "--out",
    "--group",
    "--list",
}
_OF_OTHERS |= {
    "--body",
    "--part",
    "--load",
    "--only",
    "--case",
    "--seconds",
    "--width",
    "--phases",
    "--workers",
    "--epochs",
}
_OF_ITS_OWN = ("run", "bench")  # commands that need their own process; `run` if no command is named
# What other tests run, on programs made for it. Here, these commands are only read.
_RUN_ELSEWHERE = {"--sweep", "--steps", "--benchmark", "--wait", "trigger", "doctor", "advise"}
_SHORT = {"bench": ["--quick", "--time", "1s"]}
# `bench` of a recording really measures in tests/cli/test_bench.py. Here, only one typed call is measured.
_TYPED = "aten::bmm"
_MEASURED = Measurements("AMD EPYC", "2.13.0", None, (bmm(),))
# Commands that record run it: torch would take most of their time. What its programs give with these
# options is tested in tests/collect/.
_WITHOUT_TORCH = "print(sum(range(9)))\n"
# Recorded for the commands that read.
_PROGRAM = """\
import torch


class Attention(torch.nn.Linear):
    def forward(self, x):
        return torch.bmm(torch.ones(64, 128, 128), torch.ones(64, 128, 128)).sum() + super().forward(x).sum()


model = Attention(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(30):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).backward()
    optimizer.step()
"""


def typed(page: Path) -> list[str]:
    """The lines of a page's code blocks that are commands."""
    text = _MADE.sub("", page.read_text(encoding="utf-8"))
    lines = [line for block in _FENCED.findall(text) for line in block.splitlines()]
    return [line for line in lines if re.match(r"(perfprobe|make) ", line)]


OURS = sorted({line for page in PAGES for line in typed(page) if not line.startswith("make")})
MAKE = sorted({line for page in PAGES for line in typed(page) if line.startswith("make")})


def options() -> set[str]:
    return {flag for name in COMMANDS for flag in module(name).parser()._option_string_actions} | {"--help"}


def folder(at: Path) -> Path:
    """The files that the commands name, and a recording that is the newest one in the folder."""
    (at / "train.py").write_text(_PROGRAM)
    cProfile.run("sum(range(9))", str(at / "old.prof"))
    shutil.copy(at / "old.prof", at / "out.pstats")
    facts = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5, "dur": 100}
    trace = {"traceEvents": [{**event, "args": facts}]}
    (at / "trace.json").write_text(json.dumps(trace))
    (at / "log/resnet18").mkdir(parents=True)
    (at / ".perfprobe").mkdir()
    for rank in range(2):
        of_rank = {**trace, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}}
        (at / f"log/resnet18/{rank}.pt.trace.json").write_text(json.dumps(of_rank))
        (at / f".perfprobe/train-{rank}.perfprobe").write_bytes(ranks.rank(rank).encode())
    record(at, "made.perfprobe")
    for name in ("before", "after", "runs/main/1", "runs/mine/1"):
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(at / "made.perfprobe", at / f"{name}.perfprobe")
    (at / "train.py").write_text(_WITHOUT_TORCH)
    return at


def record(at: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "perfprobe", "-q", "-o", name, "train.py"],
        cwd=at,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def prepared(once: Once) -> Path:
    return once("guides", folder)


def test_there_are_commands_to_run() -> None:
    assert len(OURS) > 20
    named = {shlex.split(line)[1] for line in OURS}
    assert set(COMMANDS) - named <= {"run"}


@pytest.mark.parametrize("command", OURS)
def test_commands_of_a_page_work(
    command: str, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Path(shutil.copytree(prepared, tmp_path / "here"))
    given = shlex.split(command)[1:]
    if "run.perfprobe" in given and given[0] != "run":
        (at / "made.perfprobe").rename(at / "run.perfprobe")
    given = [word for each in given for word in sorted(glob(each, root_dir=at)) or [each]]
    name = given[0] if given[0] in COMMANDS else "run"
    given += _SHORT.get(name, []) if "--emit" not in given else []
    monkeypatch.chdir(at)
    monkeypatch.setenv("XDG_CACHE_HOME", str(at / "cache"))
    cache.write(machine(key=cache.key("cpu")), cache.path_of(cache.key("cpu")))  # measuring takes a minute
    if _RUN_ELSEWHERE & set(given) or (name == "compare" and "--" in given):
        parser = module(name).parser()
        end = (
            parser.split(given[1:], PROGRAM_OPTIONS)
            if name in ("run", "advise")
            else (*given[1:], "--").index("--")
        )
        parser.parse_args(given[1 : end + 1])
    elif name == "bench" and given[1] != _TYPED and "--emit" not in given:
        monkeypatch.setattr(measure, "measure", lambda *_, **__: _MEASURED)
        assert main(given) == 0
    elif name in _OF_ITS_OWN:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "perfprobe", *given], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    elif name != "graph" or shutil.which("dot"):
        assert main(given) == 0


@pytest.mark.parametrize("command", MAKE)
def test_named_make_targets_exist(command: str) -> None:
    done = subprocess.run(
        [*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_named_option_exists(path: Path) -> None:
    named = set(_OPTION.findall(path.read_text(encoding="utf-8")))
    assert sorted(named - options() - _OF_OTHERS) == []


def test_every_named_section_and_view_exists() -> None:
    for path in PAGES:
        for name in re.findall(r"--view ([\w.-]*\w)", path.read_text(encoding="utf-8")):
            assert name in VIEWS, path.name


def headings(example: Path) -> Iterator[tuple[str, list[str]]]:
    """The title of the table in an example, and the titles of its columns."""
    command, *lines = example.read_text(encoding="utf-8").splitlines()
    found = re.search(r"--view ([\w.-]*\w)", command)
    name = found[1] if found else {"bench": "efficiency"}.get(example.stem, "operators")
    for line in lines:
        pieces = [piece for piece in re.split(r"\s{2,}", line.strip()) if piece]
        is_head = len(pieces) > 2 and not any(letter.isdigit() for letter in pieces[0])
        if is_head and pieces[-1] in words.COLUMNS[name]:
            yield name, pieces


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_column_and_title_of_an_example_exists(path: Path) -> None:
    tables = list(headings(path))
    assert tables, "the titles of a table's columns"
    for name, titles in tables:
        known = " ".join(words.COLUMNS[name]).split()
        assert [title for title in titles if not set(title.split()) <= set(known)] == []


def test_every_label_of_an_example_exists() -> None:
    for path in (ROOT / "docs/examples/readme.txt", ROOT / "docs/examples/first-screen.txt"):
        labels = re.findall(r"^([A-Z]{3,})\b", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(labels) > 5
        assert set(labels) <= {word.name for word in words.by_kind()["line of the first screen"]}


def test_every_example_is_generated_and_shown() -> None:
    assert {path.stem for path in EXAMPLES} == set(examples.COMMANDS)
    shown = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    for name, (command, _) in examples.COMMANDS.items():
        assert f"<!-- made: example {name} -->" in shown
        assert (ROOT / f"docs/examples/{name}.txt").read_text(encoding="utf-8").startswith(f"$ {command}\n")
