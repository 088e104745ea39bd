"""The steps of action.yml, run as GitHub does, with a perfprobe that prints its words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.experiment.repositories import commit, git, new

yaml = pytest.importorskip("yaml")
ACTION = Path(__file__).parents[2] / "action.yml"
STAND_IN = '#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word" >> "$SAID"; done\nexit "${STATUS:-0}"\n'


class Repository:
    """A repository with two commits, in which the action runs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.top = folder, folder / "project"
        self.first = new(self.top, {"train.py": "1"})
        self.second = commit(self.top, {"train.py": "2"})
        (folder / "bin").mkdir()
        (folder / "bin/perfprobe").write_text(STAND_IN)
        (folder / "bin/perfprobe").chmod(0o755)

    def run(self, *, status: int = 0, base: str = "", **given: str) -> tuple[int, str, list[str], str]:
        """Status, output, the words that perfprobe got, and outputs of the step."""
        action = yaml.safe_load(ACTION.read_text())
        inputs = {name: str(about.get("default", "")) for name, about in action["inputs"].items()}
        inputs |= {name.replace("_", "-"): value for name, value in given.items()}
        step: dict[str, Any] = action["runs"]["steps"][0]
        expressions = {f"${{{{ inputs.{name} }}}}": value for name, value in inputs.items()}
        expressions["${{ github.event.pull_request.base.sha }}"] = base
        environment = {name: expressions[value] for name, value in step["env"].items()}
        said, output = self.folder / "said", self.folder / "output"
        for path in (said, output):
            path.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.top / expressions[step["working-directory"]],
            env={
                "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                "SAID": str(said),
                "GITHUB_OUTPUT": str(output),
                "STATUS": str(status),
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr, said.read_text().splitlines(), output.read_text()


@pytest.fixture
def project(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_it_compares_with_the_commit_before(project: Repository) -> None:
    status, said, words, output = project.run(program="train.py --name 'a b'")
    assert (status, said, output) == (0, "", "status=0\n")
    assert words == ["compare", "--refs", "HEAD^,HEAD", "--", "train.py", "--name", "a b"]


def test_limits_and_options_become_words(project: Repository) -> None:
    given = {
        "fail_on": "step>3%\npeak_memory>5%\n",
        "link": "data\nmy models",
        "setup": "pip install -e .",
        "options": "--time 10m --limit 5",
        "record": ".perfprobe/history.jsonl",
        "label": "two words",
    }
    _, _, words, _ = project.run(status=0, base=project.first, program="-m train", **given)
    assert words == [
        *("compare", "--refs", f"{project.first},HEAD"),
        *("--fail-on", "step>3%", "--fail-on", "peak_memory>5%"),
        *("--link", "data", "--link", "my models", "--setup", "pip install -e ."),
        *("--record", ".perfprobe/history.jsonl", "--label", "two words", "--time", "10m", "--limit", "5"),
        *("--", "-m", "train"),
    ]


@pytest.mark.parametrize("code", [3, 5])
def test_its_status_is_that_of_compare(project: Repository, code: int) -> None:
    status, _, words, output = project.run(status=code, program="train.py")
    assert (status, output) == (code, f"status={code}\n")
    assert words


SLEEPS = """
import time
import perfprobe
for _ in range(24):
    time.sleep({ms} / 1000)
    perfprobe.step()
"""


@pytest.mark.parametrize(("ms", "status"), [(4, 0), (8, 5)])
def test_with_perfprobe_itself(project: Repository, ms: int, status: int) -> None:
    (project.folder / "bin/perfprobe").write_text(f'#!/bin/sh\nexec {sys.executable} -m perfprobe "$@"\n')
    commit(project.top, {"train.py": SLEEPS.format(ms=4)})
    commit(project.top, {"train.py": SLEEPS.format(ms=ms)})
    given = {"program": "train.py", "fail_on": "step>20%", "options": "--pairs 5"}
    found, said, _, output = project.run(status=0, **given)
    assert (found, output) == (status, f"status={status}\n")
    assert "GATE" in said


def test_a_first_run_has_nothing_to_compare_with(project: Repository) -> None:
    git(project.top, "checkout", "--quiet", "--detach", project.first)
    status, said, words, output = project.run(program="train.py")
    assert (status, words, output) == (0, [], "status=0\n")
    assert said.startswith("::notice::")
