"""The JSON for speedscope, compared with the rules of its schema and with paths by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfprobe.report.export import speedscope
from perfprobe.support.errors import InputError
from perfprobe.tables.findings import Findings
from tests.build import Program, op
from tests.report.exports import LOAD, content, counted, findings, sampled
from tests.snapshots import Snapshot

UNITS = ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")


def document(found: Findings) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(content(speedscope.exported(found)))
    check(made)
    return made


def check(made: dict[str, Any]) -> None:
    """Checks the rules of https://www.speedscope.app/file-format-schema.json, and what its importer needs."""
    assert made["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(made) <= {"$schema", "activeProfileIndex", "exporter", "name", "profiles", "shared"}
    frames = made["shared"]["frames"]
    for frame in frames:
        assert set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame["name"], str)
        assert isinstance(frame.get("file", ""), str)
        assert isinstance(frame.get("line", 0), int)
    for profile in made["profiles"]:
        required = {"endValue", "name", "samples", "startValue", "type", "unit", "weights"}
        assert set(profile) == required
        assert profile["type"] == "sampled"
        assert profile["unit"] in UNITS
        assert isinstance(profile["name"], str)
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(type(weight) is int and weight >= 0 for weight in profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        assert all(type(at) is int and 0 <= at < len(frames) for path in profile["samples"] for at in path)


def paths(made: dict[str, Any], profile: int) -> list[tuple[list[str], int]]:
    frames, found = made["shared"]["frames"], made["profiles"][profile]
    return [
        ([frames[at]["name"] for at in path], weight)
        for path, weight in zip(found["samples"], found["weights"], strict=True)
    ]


FORWARD = ["<module>", "Trainer.step", "Net.forward.<locals>.<lambda>"]
BACKWARD = ["<module>", "Trainer.step", "_engine_run_backward"]


def test_paths_by_time(tmp_path: Path) -> None:
    made = document(findings(sampled(), tmp_path))
    assert (made["name"], [profile["name"] for profile in made["profiles"]]) == (
        "train.py",
        ["MainThread", "loader"],
    )
    assert paths(made, 0) == [
        (["<module>"], 600_000),
        ([*FORWARD, "aten::mm.out f32[2,2] f32[2,2].T"], 200_000),
        ([*BACKWARD, "aten::mm f32[2,2] f32[2,2].T (backward)"], 100_000),
        (FORWARD, 100_000),
    ]
    assert paths(made, 1) == [(["load"], 400_000), ([], 80_000), (["(Python not read)"], 20_000)]


def test_streamed_text_equals_that_of_json(tmp_path: Path) -> None:
    program = sampled()
    program.meta["program"]["argv"] = ["tr\u00e4in.py", '"']
    text = content(speedscope.exported(findings(program, tmp_path))).decode()
    assert text == json.dumps(json.loads(text), separators=(",", ":"))


def test_frames_have_file_and_line(tmp_path: Path) -> None:
    made = document(findings(sampled(), tmp_path))
    places = {frame["name"]: (frame.get("file"), frame.get("line")) for frame in made["shared"]["frames"]}
    assert places == {
        "<module>": ("/p/train.py", 1),
        "Trainer.step": ("/p/train.py", 28),
        FORWARD[-1]: ("/p/model.py", 80),
        BACKWARD[-1]: ("/env/site-packages/torch/autograd/graph.py", 800),
        "aten::mm.out f32[2,2] f32[2,2].T": ("/p/model.py", 88),
        "aten::mm f32[2,2] f32[2,2].T (backward)": ("/p/model.py", 88),  # the line of the forward call
        "load": ("/p/load;data.py", 4),
        "(Python not read)": (None, None),
    }


def test_without_samples_operators_are_exported(tmp_path: Path, snapshot: Snapshot) -> None:
    program = Program()
    program.thread(1)
    program.run(op("aten::mm", 0, 70, stack=program.stack("a.py:5 f")))
    found = findings(program, tmp_path)
    made = document(found)
    assert paths(made, 0) == [(["f", "aten::mm"], 70)]
    snapshot("\n".join([made["profiles"][0]["name"], *speedscope.exported(found).notes]))


def test_nothing_to_export_is_reported(tmp_path: Path) -> None:
    empty, only_counts = Program(), counted(Program())
    for program in (empty, only_counts):
        with pytest.raises(InputError, match=r"no stacks with times.*--python both"):
            speedscope.exported(findings(program, tmp_path))
    only_counts.meta["pstats"] = "x.pstats"
    with pytest.raises(InputError, match="--format pstats"):
        speedscope.exported(findings(only_counts, tmp_path))


def test_endless_recursion_is_cut(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.sample(0, 10, *["a.py:5 f"] * 3000)
    ((path, weight),) = paths(document(findings(program, tmp_path)), 0)
    assert (path[:2], len(path), weight) == (["(further out)", "f"], 1025, 10)


def test_names_are_escaped(tmp_path: Path) -> None:
    program = sampled()
    program.sample(0, 7, LOAD, 'q".py:5/4 \x1b<script>', thread=1)
    assert ["load", "\x1b<script>"] in [path for path, _ in paths(document(findings(program, tmp_path)), 1)]
