import json
from pathlib import Path

import pytest

from tests.collect.runs import Outcome, command, perfprobe
from tests.report.pictured import Picture, needs_dot, training
from tests.snapshots import Snapshot, masked


def graph(folder: Path, *words: str, **environment: str) -> Outcome:
    training().recording(folder)
    words = ("graph", *words)
    return perfprobe(words, folder, environment) if environment else command(words, folder)


@needs_dot
def test_the_picture_is_written_beside_the_recording(tmp_path: Path, snapshot: Snapshot) -> None:
    outcome = graph(tmp_path)
    made = tmp_path / "made.callgraph.png"
    assert outcome.status == 0
    snapshot(masked(outcome.out.decode(), made=made), said="\n".join(outcome.said))
    assert made.read_bytes().startswith(b"\x89PNG")


def test_options_reach_the_graph(tmp_path: Path) -> None:
    words = ["--by", "calls", "--min-node", "0", "--root", "Net", "--library", "--depth", "1", "-o", "a.dot"]
    outcome = graph(tmp_path, "made.perfprobe", *words)
    assert outcome.status == 0
    text = (tmp_path / "a.dot").read_text()
    assert "by operator calls" in text
    assert "Linear.forward" in text
    assert "addmm" not in text
    assert "main" not in text


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["-o", "a.txt"], 2, "use a name that ends in .png, .svg, .pdf or .dot"),
        (["-o", "a"], 2, "use a name that ends in .png, .svg, .pdf or .dot"),
        (["-o", "missing/a.png"], 4, "the folder to write into does not exist"),
        (["--min-node", "101"], 2, "give a percentage from 0 to 100"),
        (["--min-edge", "nan"], 2, "give a percentage from 0 to 100"),
        (["--min-node", "much"], 2, "invalid float value"),
        (["--depth", "0"], 2, "argument --depth: '0' is not a whole number from 1 up; see"),
        (["--root", "("], 2, "not a regular expression"),
        (["--leaf", "nothing"], 2, "--leaf matches no function and no operator"),
        (["--by", "time"], 3, "record with --python both"),
        (["none.perfprobe"], 2, "there is no such file: none.perfprobe"),
    ],
)
def test_errors_are_reported_in_one_line(tmp_path: Path, words: list[str], status: int, said: str) -> None:
    outcome = graph(tmp_path, *words, *(["made.perfprobe"] if words[0].startswith("-") else []))
    assert (outcome.status, outcome.out, outcome.err) == (status, b"", b"")
    assert len(outcome.said) == 1
    assert said in outcome.said[0]


def test_missing_dot_is_reported(tmp_path: Path) -> None:
    outcome = graph(tmp_path, "made.perfprobe", "-o", "a.png", PATH=str(tmp_path))
    assert outcome.status == 4
    assert "install Graphviz" in outcome.said[0]
    assert str(tmp_path / "a.dot") in outcome.said[0]
    assert (tmp_path / "a.dot").exists()


SCRIPT = """
import sys
import torch

def product(x):
    return torch.bmm(x, x)

def main():
    for _ in range(3):
        product(torch.ones(4, 8, 8))

main()
sys.exit(3)
"""


@needs_dot
def test_run_draws_when_the_program_has_ended(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    outcome = perfprobe(
        ["-q", "--python", "off", "--callgraph", "a.dot", "--json", "a.json", "train.py"], tmp_path
    )
    assert (outcome.status, outcome.out, outcome.err) == (3, b"", b"")
    text = (tmp_path / "a.dot").read_text()
    box = next(box for title, box in Picture(text).boxes.items() if title.endswith("product"))
    assert box.place == "train.py:5"
    assert box.rows["bmm"].startswith(":6  f32[4,8,8] [4,8,8]  ")
    assert json.loads((tmp_path / "a.json").read_text())["schema"] == 1


def test_a_failing_picture_does_not_affect_the_run(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint('ran')\nsys.exit(3)\n")
    outcome = perfprobe(["--python", "off", "--callgraph", "a.dot", "train.py"], tmp_path)
    assert (outcome.status, outcome.out) == (3, b"ran\n")
    (recording,) = (tmp_path / ".perfprobe").glob("*.perfprobe")
    snapshot(masked("\n".join(outcome.said), recording=recording))
    assert b"train.py" in outcome.err  # the report


def test_run_checks_the_output_path_before_the_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('ran')")
    for name, status in (("a.gif", 2), ("missing/a.png", 4)):
        outcome = perfprobe(["--callgraph", name, "train.py"], tmp_path)
        assert (outcome.status, outcome.out, len(outcome.said)) == (status, b"", 1)
        assert not list(tmp_path.glob("*.perfprobe"))
