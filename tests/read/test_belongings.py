from __future__ import annotations

import pytest

from perfprobe.cli.export import FORMATS
from perfprobe.read.belongings import Belongings, belongings, jobs
from perfprobe.support.graph_view import PICTURES
from perfprobe.tables.measured_file import beside


def found(*names: str, rotates: bool = True) -> list[Belongings]:
    return list(belongings(names, lambda _: rotates))


def test_all_that_perfprobe_writes_beside_a_recording_belongs_to_it() -> None:
    pictures = [f"run.callgraph{ending}" for ending in PICTURES]
    exports = [f"run{number}{form.suffix}" for form in FORMATS.values() for number in ("", "-2", "-17")]
    files = sorted([beside("run.perfprobe"), *pictures, *exports])
    folders = ["run-children", "run-children-2"]
    others = [
        ".gitignore",
        "run",
        "run.txt",
        "run.png",
        "run.json",
        "runs.pstats",
        "run-x.pstats",
        "a-children",
    ]
    assert found("run.perfprobe", *files, *folders, *others) == [
        Belongings("run.perfprobe", [], files, folders)
    ]


def test_files_of_rotate_are_no_recordings_of_their_own() -> None:
    names = [f"a{part}.perfprobe" for part in ("", ".2", ".10", ".20", ".1", ".x")] + ["a.2.pstats"]
    assert found(*names) == [
        Belongings("a.perfprobe", ["a.2.perfprobe", "a.10.perfprobe", "a.20.perfprobe"], ["a.2.pstats"], []),
        Belongings("a.1.perfprobe", [], [], []),
        Belongings("a.x.perfprobe", [], [], []),
    ]
    assert [each.name for each in found("a.perfprobe", "a.2.perfprobe", rotates=False)] == [
        "a.perfprobe",
        "a.2.perfprobe",
    ]
    assert [each.name for each in found("a.2.perfprobe")] == ["a.2.perfprobe"]  # the first was removed


@pytest.mark.parametrize(
    ("name", "owner"),
    [("a-2.pstats", "a-2.perfprobe"), ("a-2-2.pstats", "a-2.perfprobe"), ("a-3.pstats", "a.perfprobe")],
)
def test_the_longest_name_owns_a_file(name: str, owner: str) -> None:
    assert [each.name for each in found("a.perfprobe", "a-2.perfprobe", name) if each.files] == [owner]


def test_the_folder_itself_is_no_recording() -> None:
    assert found(".perfprobe", ".pstats") == []


def grouped(*names: str) -> list[list[str]]:
    found = belongings([f"{name}.perfprobe" for name in names], lambda _: False)
    return [[one.name.removesuffix(".perfprobe") for one in job] for job in jobs(found)]


def test_the_ranks_of_a_job_belong_together() -> None:
    first = [f"train-20261128-120000-node{rank // 2}-rank{rank}-{100 + rank}" for rank in range(4)]
    late = "train-20261128-120059-node2-rank4-7"
    again = [f"train-20261128-120003-node0-rank{rank}-{200 + rank}" for rank in range(2)]
    named = [f"out-rank{rank}" for rank in range(11)]
    others = ["eval-20261128-120000-node0-rank0-300", "train-20261128-120000-17", "rank0"]
    found = grouped(*first, late, *again, *named, *others)
    assert sorted(map(sorted, found)) == sorted(
        map(sorted, [first, [*again, late], named, *([one] for one in others)])
    )


@pytest.mark.parametrize(
    "name", ["a-20261328-120000-h-rank1-2", "a-20261128-120200-h-rank1-2", "b-20261128-120000-h-rank1-2", "a"]
)
def test_other_recordings_are_no_ranks_of_it(name: str) -> None:
    one = "a-20261128-120000-h-rank0-1"
    assert sorted(grouped(one, name)) == sorted([[one], [name]])
