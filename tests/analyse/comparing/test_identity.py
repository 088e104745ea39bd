"""Parts of a step are found in another version, although lines moved and changed."""

from __future__ import annotations

import pytest

from perfprobe.analyse.comparing.identity import Pairing, paired_parts, same_files, without_sizes
from perfprobe.models.compared import Match, Part
from perfprobe.tables.account import LeafKind
from perfprobe.tables.steps import StepPhase
from tests.versions import fnv


def part(line: int, text: str | None = None, **given: object) -> Part:
    known = {
        "path": "model.py",
        "function": "Net.forward",
        "operator": "aten::mm",
        "signature": "f32[2,3]",
        **given,
    }
    text_hash = -1 if text is None else fnv(text)
    phase = StepPhase.FORWARD
    return Part(LeafKind.LINE, phase, line=line, offset=line - 8, text_hash=text_hash, **known)  # type: ignore[arg-type]


def lines(found: list[Pairing]) -> set[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return {
        (each.match.value, tuple(p.line for p in each.before), tuple(p.line for p in each.after))
        for each in found
    }


def test_a_line_that_moved_is_the_same() -> None:
    before = [part(12, "x = self.a(x)"), part(13, "x = self.b(x)")]
    after = [part(19, "x = self.b(x)"), part(17, "x = self.a(x)")]
    assert lines(paired_parts(before, after)) == {("same", (12,), (17,)), ("same", (13,), (19,))}


def test_equal_lines_are_told_apart_by_their_order() -> None:
    before = [part(12, "x = relu(x)"), part(15, "x = relu(x)")]
    after = [part(22, "x = relu(x)"), part(25, "x = relu(x)"), part(26, "x = relu(x)")]
    expected = {("same", (12,), (22,)), ("same", (15,), (25,)), ("new", (), (26,))}
    assert lines(paired_parts(before, after)) == expected


def test_another_size_or_dtype_is_the_same_row_but_equal_inputs_come_first() -> None:
    before = [part(12, "f(x)", signature="f32[2,3]"), part(12, "f(x)", signature="f32[4,4]")]
    after = [part(12, "f(x)", signature="f32[2,3]"), part(12, "f(x)", signature="f64[9,9]")]
    found = {(each.before[0].signature, each.after[0].signature) for each in paired_parts(before, after)}
    assert found == {("f32[2,3]", "f32[2,3]"), ("f32[4,4]", "f64[9,9]")}


def test_an_edited_line_is_found_by_its_function_and_operator() -> None:
    before = [part(12, "x = self.a(x)", module="a"), part(14, "y = self.b(x)", module="b")]
    after = [part(13, "x = self.a(x.double())", module="a"), part(15, "y = self.b(x)", module="b")]
    assert lines(paired_parts(before, after)) == {("edited", (12,), (13,)), ("same", (14,), (15,))}


def test_a_call_that_moved_to_another_function_is_found_by_its_module() -> None:
    before = [part(12, "x = self.a(x)", module="net.a")]
    after = [part(3, "return self.a(x)", module="net.a", function="Net.body")]
    assert lines(paired_parts(before, after)) == {("moved", (12,), (3,))}


def test_without_hashes_the_offset_in_the_function_counts() -> None:
    before, after = [part(12), part(13)], [part(12, "a"), part(14, "b", operator="aten::bmm")]
    expected = {("same", (12,), (12,)), ("gone", (13,), ()), ("new", (), (14,))}
    assert lines(paired_parts(before, after)) == expected


def test_a_changed_text_at_the_same_offset_is_not_the_same() -> None:
    (found,) = paired_parts([part(12, "f(x)", module="a")], [part(12, "g(x)", module="b")])[:1]
    assert found.match is Match.GONE


def test_what_has_no_line_is_found_by_kind_operator_and_module() -> None:
    before = [
        Part(LeafKind.DATA, StepPhase.DATA),
        Part(LeafKind.LINE, StepPhase.FORWARD, operator="aten::mm"),
    ]
    assert [each.match for each in paired_parts(before, before)] == [Match.SAME, Match.SAME]


def test_every_part_is_in_one_pairing() -> None:
    before = [part(at, f"line {at % 5}", module=f"m{at % 3}", operator=f"op{at % 2}") for at in range(40)]
    after = [part(at + 3, f"line {at % 7}", module=f"m{at % 4}", operator=f"op{at % 2}") for at in range(50)]
    found = paired_parts(before, after)
    assert sorted(p for each in found for p in each.before) == sorted(set(before))
    assert sorted(p for each in found for p in each.after) == sorted(set(after))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a/model.py"}, {"a/model.py"}, {"a/model.py": "a/model.py"}),
        (
            {"old/net/model.py", "old/model.py"},
            {"src/net/model.py"},
            {"src/net/model.py": "old/net/model.py"},
        ),
        ({"a/model.py", "b/model.py"}, {"c/model.py"}, {}),
        ({"a/x.py"}, {"a/y.py"}, {"a/y.py": "a/x.py"}),
    ],
)
def test_files_are_the_same_by_the_end_of_their_paths(
    before: set[str], after: set[str], expected: dict[str, str]
) -> None:
    assert same_files(before, after) == expected


def test_sizes_and_strides_are_left_out() -> None:
    assert without_sizes("f32[16,32]{1,16} (f32[2],-) dim=1") == "f32[] (f32[],-) dim=1"
