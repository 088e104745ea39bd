"""The profile for pprof, decoded by the rules of protobuf, and compared with collapsed stacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perfprobe.report.export import collapsed, pprof
from perfprobe.tables.findings import Findings
from tests.report.exports import content, findings, sampled


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends. Source: https://protobuf.dev/programming-guides/encoding."""
    found = shift = 0
    while True:
        found |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return found, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        assert key & 7 in (0, 2)
        if key & 7 == 2:
            data_of, at = data[at : at + value], at + value
            assert len(data_of) == value
            yield key >> 3, data_of
        else:
            yield key >> 3, value


def numbers(data: bytes) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


class Read:
    """A profile as pprof reads it."""

    def __init__(self, found: Findings) -> None:
        made = b"".join(pprof.exported(found).parts)
        self.fields = list(fields(made))
        self.texts = [value.decode() for number, value in self.fields if number == 6]
        functions = [dict(fields(value)) for number, value in self.fields if number == 5]
        self.functions = {each[1]: (self.texts[each[2]], self.texts[each[4]], each[5]) for each in functions}
        places = [dict(fields(value)) for number, value in self.fields if number == 4]
        self.function_of = {each[1]: dict(fields(each[4]))[1] for each in places}
        self.samples = [list(fields(value)) for number, value in self.fields if number == 2]

    def times(self) -> Counter[tuple[str, ...]]:
        """ns by path, the root first."""
        found = Counter[tuple[str, ...]]()
        for sample in self.samples:
            parts = dict(sample)
            path = [self.functions[self.function_of[place]][0] for place in reversed(numbers(parts[1]))]
            found[tuple(path)] += numbers(parts[2])[0]
        return found

    def labels(self) -> list[dict[str, str]]:
        return [
            {
                self.texts[label[1]]: self.texts[label[2]]
                for label in (dict(fields(value)) for number, value in sample if number == 3)
            }
            for sample in self.samples
        ]


def test_times_are_those_of_collapsed_stacks(tmp_path: Path) -> None:
    """Collapsed stacks have microseconds, names with the line in brackets, and the thread before them."""
    found = findings(sampled(), tmp_path)
    others = Counter[tuple[str, ...]]()
    for line in content(collapsed.exported(found)).decode().splitlines():
        path, _, microseconds = line.rpartition(" ")
        others[tuple(name.partition(" (")[0] for name in path.split(";")[1:])] += 1000 * int(microseconds)
    made = Counter[tuple[str, ...]]()
    for path_of, time_ns in Read(found).times().items():
        made[tuple(name.partition(" (")[0] for name in path_of)] += time_ns
    assert made == others
    assert sum(made.values()) > 0


def test_the_profile_says_what_it_has(tmp_path: Path) -> None:
    read = Read(findings(sampled(), tmp_path))
    assert read.texts[0] == ""
    assert len(set(read.texts)) == len(read.texts)
    (kind,) = (dict(fields(value)) for number, value in read.fields if number == 1)
    assert (read.texts[kind[1]], read.texts[kind[2]]) == ("time", "nanoseconds")
    duration_ns = dict(each for each in read.fields if each[0] == 10)[10]
    assert duration_ns == sum(read.times().values())
    assert {number for number, _ in read.fields} == {1, 2, 4, 5, 6, 10, 13, 14}


def test_operators_have_labels(tmp_path: Path) -> None:
    labels = Read(findings(sampled(), tmp_path)).labels()
    assert {each["thread"] for each in labels} == {"MainThread", "loader"}
    named = [(each["operator"], each["signature"], each["phase"]) for each in labels if "operator" in each]
    assert ("aten::mm", "f32[2,2] f32[2,2].T", "backward") in named
    assert any("operator" not in each for each in labels)


def test_functions_have_files_and_lines(tmp_path: Path) -> None:
    functions = Read(findings(sampled(), tmp_path)).functions.values()
    assert any(file.endswith("train.py") and line > 0 for _, file, line in functions)
