"""The first screen, `--view` and `--brief`, for made programs and by hand."""

import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest
from rich.cells import cell_len

from perfprobe.diagnose.limits import gain
from perfprobe.merge import link
from perfprobe.report.render.markdown import brief
from perfprobe.report.render.text import first_screen, page, render
from perfprobe.report.rows.screen import said
from perfprobe.report.section.block import Said
from perfprobe.report.section.listed import KINDS, PEER_SECTIONS, SECTIONS
from perfprobe.report.section.screen.parts import whole_percents
from perfprobe.report.section.screen.places import times, whole_percent
from perfprobe.report.section.screen.screen import ALL, LINES, STEP_KINDS, fitting, screen_rows
from perfprobe.report.section.screen.screen import KINDS as SCREEN_KINDS
from perfprobe.report.section.screen.worded import how_much
from perfprobe.results import Results
from perfprobe.support.errors import InputError, UsageError
from perfprobe.support.view import View
from perfprobe.support.views import PEER_VIEWS, SECTION_VIEWS, VIEWS
from perfprobe.tables.account import Account
from perfprobe.tables.diagnoses import Cause, Diagnosis
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings
from tests.build import Program, op
from tests.found import find
from tests.report.test_text import META
from tests.snapshots import Snapshot

MS = 1_000_000
STEP_NS, STEPS = 100 * MS, 8
SLOW_OPERATOR = "aten::bmm"
ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"


def steps(lines: int = 1, held_up_ns: int = 0, **meta: object) -> Program:
    """8 steps of 100 ms: 60 in bmm on this number of lines in forward, 18 in their backward, 9 in the loader.

    held_up_ns: how much longer every third step takes, in the last bmm.
    """
    program = Program(
        **{**META, "stop": {"monotonic_ns": STEPS * STEP_NS, "cpu_ns": STEPS * STEP_NS}, **meta}
    )
    program.thread(1)
    net = program.module("", "Net")
    main = program.stack("/p/train.py:20 main")
    stacks = [
        program.stack("/p/train.py:22 main", (f"/p/model.py:{88 + at} attention", net)) for at in range(lines)
    ]
    backward = {"stack": program.stack("/p/train.py:23 main", ENGINE), "node_thread": 1}
    step = program.stack("/p/train.py:24 main")
    inputs = {"signature": program.signature("f32[64,128] f32[64,128]{1,64}")}
    own_ns, back_ns = 60 * MS // lines, 18 * MS // lines
    for number in range(STEPS):
        at = number * STEP_NS + number // 3 * held_up_ns
        late_ns = held_up_ns if number % 3 == 2 else 0
        end = at + STEP_NS + late_ns
        program.run(
            op("enumerate(DataLoader)#_Next", at, at + 9 * MS, stack=main, scope=7),
            *(
                op(SLOW_OPERATOR, begin, begin + own_ns + late_ns, stack=stack, **inputs, sequence=sequence)
                for begin, stack, sequence in zip(
                    range(at + 10 * MS, at + 70 * MS, own_ns), stacks, count(number * lines), strict=False
                )
            ),
            *(
                op("aten::mm", begin, begin + back_ns, **backward, **inputs, node_sequence=sequence)
                for begin, sequence in zip(
                    range(end - 30 * MS, end - 12 * MS, back_ns), count(number * lines), strict=False
                )
            ),
            op("Optimizer.step#SGD.step", end - 11 * MS, end - MS, stack=step, scope=7),
        )
    return program


def found(program: Program, tmp_path: Path) -> Findings:
    return find(link(program.recording(tmp_path)), *SCREEN_KINDS, *STEP_KINDS)


def labelled(findings: Findings) -> dict[str, str]:
    return {row.label: row.text for row in screen_rows(findings)}


def test_every_section_is_a_view() -> None:
    assert tuple(section.name for section in SECTIONS) == tuple(SECTION_VIEWS)
    assert tuple(section.name for section in PEER_SECTIONS) == tuple(PEER_VIEWS)
    assert (*SECTION_VIEWS, *PEER_VIEWS) == VIEWS


def test_slow_names_the_largest_part_of_the_step(tmp_path: Path) -> None:
    lines = labelled(found(steps(), tmp_path))
    assert lines["SLOW"].startswith("model.py:88, 78.0 ms = 78 %")
    assert lines["GAIN"].startswith("at most 4.6x")
    assert re.fullmatch(r"100 ms \+- 1 median, p95 100.*", lines["STEP"])
    shares = [int(number) for number in re.findall(r"(\d+) %", lines["PARTS"])]
    assert sum(shares) == 100


def layers(head_ms: int) -> Program:
    """4 layers, each with 5 ms of attention and 15 ms of two products in a perceptron: 60 % of a step."""
    step_ns = STEP_NS + head_ms * MS
    program = Program(**{**META, "stop": {"monotonic_ns": STEPS * step_ns, "cpu_ns": STEPS * step_ns}})
    program.thread(1)
    net = program.module("", "Net")
    head = program.stack(("/p/train.py:22 main", program.module("head", "Linear", net)))
    blocks = program.module("blocks", "ModuleList", net)
    main = program.stack("/p/train.py:20 main")
    backward = program.stack("/p/train.py:23 main", ENGINE)
    step = program.stack("/p/train.py:24 main")
    inputs, wide = program.signature("f32[64,128] f32[64,128]"), program.signature("f32[64,128] f32[128,8]")
    for number in range(STEPS):
        at = number * step_ns
        program.run(op("enumerate(DataLoader)#_Next", at, at + 9 * MS, stack=main, scope=7))
        for layer in range(4):
            block = program.module(str(layer), "Block", blocks)
            perceptron, begin = program.module("mlp", "MLP", block), at + (10 + 20 * layer) * MS
            for name, parent, start, end in (
                ("attn", block, 0, 5), ("fc", perceptron, 5, 12), ("proj", perceptron, 12, 20),
            ):  # fmt: skip
                own = program.module(name, "Linear", parent)
                stack = program.stack(("/p/train.py:22 main", own))
                program.run(
                    op(
                        "aten::mm",
                        begin + start * MS,
                        begin + end * MS,
                        stack=stack,
                        signature=inputs,
                        sequence=number,
                    )
                )
        node = {"node_sequence": number, "node_thread": 1}
        if head_ms:
            program.run(op("aten::mm", at + 90 * MS, at + (90 + head_ms) * MS, stack=head, signature=wide))
            at += head_ms * MS
        program.run(
            op("aten::mm", at + 90 * MS, at + 91 * MS, stack=backward, signature=inputs, **node),
            op("Optimizer.step#SGD.step", at + 91 * MS, at + 99 * MS, stack=step, scope=7),
        )
    return program


@pytest.mark.parametrize("head_ms", [0, 60])
def test_a_line_that_calls_a_model_is_shown_as_its_main_module(
    tmp_path: Path, head_ms: int, snapshot: Snapshot
) -> None:
    """With a head of 60 ms neither has most of the model's time, so the larger one is named."""
    findings = found(layers(head_ms), tmp_path)
    snapshot("\n".join(row.text for row in screen_rows(findings) if row.label in ("SLOW", "", "NEXT")))


def test_without_a_bottleneck_it_names_what_was_examined(tmp_path: Path, snapshot: Snapshot) -> None:
    """Without samples nothing is known about lines."""
    without = labelled(found(steps(5), tmp_path))
    assert ("lines" in without["CHECKED"], "lines" in without["MORE"]) == (False, True)
    sampler = {"ticks": 40, "started_ns": 0, "stopped_ns": STEPS * STEP_NS}
    sampled = labelled(found(steps(5, sampler=sampler), tmp_path))
    assert ("lines" in sampled["CHECKED"], "lines" in sampled["MORE"]) == (True, False)
    shown = (
        "\n".join(f"{name} {lines[name]}" for name in ("SLOW", "CHECKED", "MORE"))
        for lines in (without, sampled)
    )
    snapshot(**dict(zip(("without", "sampled"), shown, strict=True)))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_first_screen_fits(width: int, tmp_path: Path) -> None:
    text = first_screen(found(steps(), tmp_path), width=width)
    lines = text.splitlines()
    assert len(lines) <= ALL
    assert lines.index("") <= LINES
    assert max(map(cell_len, lines)) <= width


def test_shares_are_of_the_step(tmp_path: Path) -> None:
    text = first_screen(found(steps(), tmp_path), width=120)
    first = text[text.index("of step") :].splitlines()[1]
    assert first.split()[:3] == ["60.1", "%", "bmm"]  # the last step ends a millisecond early


def test_waiting_for_a_processor_is_no_part_of_the_steps(tmp_path: Path) -> None:
    """6 of 8 steps take 100 ms, 2 take 240. The scheduler counted 380 ms of waiting."""
    stop = {"monotonic_ns": STEPS * STEP_NS + 280 * MS, "cpu_ns": 0}
    said = []
    for waited_ns in (0, 380 * MS):
        program = steps(held_up_ns=140 * MS, stop=stop)
        for time_ns, sum_ns in ((0, 0), (stop["monotonic_ns"], waited_ns)):
            program.row("thread_times", time_ns, 0, 0, sum_ns, 0, 0, 0)
        findings = found(program, tmp_path)
        assert findings[Account].waited_ns == pytest.approx(waited_ns, rel=0.01)
        said.append(labelled(findings))
    assert ("MACHINE" in said[0], "without waiting" in said[0]["STEP"]) == (False, False)
    assert " 65 % of a core" in said[1]["MACHINE"]
    assert "; 87." in said[1]["STEP"]  # 700 / 8
    # Without samples it is not known whose the waiting was. All parts get the same share; the error says so.
    assert "= 84 %, forward" in said[0]["SLOW"]
    assert "= 84 % +- 42, forward" in said[1]["SLOW"]


@pytest.mark.parametrize(("error", "is_number"), [(0.05, True), (1.37, False)])
def test_an_error_larger_than_its_share_is_no_number(error: float, is_number: bool) -> None:
    each = Diagnosis(cause=Cause.LINE, time_ns=8 * MS, share=0.08, error=error, phases={})
    text = how_much(each)
    assert (text.startswith("8.00 ms = 8 %"), "+-" in text) == (True, is_number)


def test_the_first_screen_without_steps(tmp_path: Path, snapshot: Snapshot) -> None:
    program = Program(**META)
    program.thread(1)
    program.run(op("aten::mm", 0, 1_000_000, stack=program.stack("/p/train.py:3 main")))
    lines = labelled(found(program, tmp_path))
    snapshot("\n".join(f"{name} {lines[name]}" for name in ("STEPS", "PARTS", "SLOW")))


def test_losses_are_counted_and_named(tmp_path: Path, snapshot: Snapshot) -> None:
    findings = found(steps(), tmp_path).plus(Losses.one("operators", "too many", 3, "record less"))
    snapshot(labelled(findings)["TRUST"])


def test_a_view_shows_one_section(tmp_path: Path) -> None:
    findings = find(link(steps().recording(tmp_path)), *KINDS)
    assert render(findings, view="lines").startswith("Hot lines")
    assert render(findings, view="gpus").startswith("Not recorded: gpus. ")


def test_an_unknown_view_is_reported_with_the_existing_ones() -> None:
    with pytest.raises(UsageError, match="there is no view 'linse'; did you mean `lines`"):
        View(view="linse")
    with pytest.raises(UsageError, match="there is no view 'qqqq'") as refused:
        View(view="qqqq")
    assert all(name in str(refused.value) for name in VIEWS)


@pytest.mark.parametrize(
    ("given", "is_screen"),
    [
        ({}, True),
        ({"brief": True}, True),
        ({"full": True}, False),
        ({"view": "lines"}, False),
        ({"top": 3}, False),
    ],
)
def test_options_of_tables_show_tables(given: dict[str, object], is_screen: bool) -> None:
    assert View(**given).is_screen is is_screen


def test_brief_markdown_is_short_with_stable_ids(tmp_path: Path) -> None:
    texts = []
    for name, shift in (("a", 0), ("b", 3)):
        (tmp_path / name).mkdir()
        findings = found(steps(note=shift), tmp_path / name)
        texts.append(brief(findings))
    assert len(texts[0].splitlines()) <= 40
    ids = [re.findall(r"^\| `(\w{8})`", text, re.MULTILINE) for text in texts]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == len(ids[0]) > 1
    assert "- `slow` " in texts[0]


def test_json_always_has_the_first_screen(tmp_path: Path) -> None:
    results = Results(steps().recording(tmp_path).path)
    for view in (View(), View(focus="nothing"), View(group="op")):
        rows = results.document(view)["tables"]["first_screen"]
        (slow,) = [row for row in rows if row["label"] == "SLOW"]
        assert (slow["line"], slow["time_ns"]) == (88, 78 * MS)


@pytest.mark.parametrize(
    ("time_ns", "percents"),
    [([1, 1, 1], [34, 33, 33]), ([995, 5], [100, 0]), ([7], [100]), ([2, 1], [67, 33])],
)
def test_whole_percents_sum_to_100(time_ns: Sequence[int], percents: Sequence[int]) -> None:
    assert sorted(whole_percents(time_ns), reverse=True) == percents


def test_the_least_important_lines_are_dropped() -> None:
    rows = [said(label, "x") for label in ("head", "STEP", "LIMIT", "GAIN", "NEXT")]
    assert [row.label for row in fitting(rows, 4)] == ["head", "STEP", "GAIN", "NEXT"]
    assert [row.label for row in fitting(rows, 3)] == ["head", "STEP", "GAIN"]
    rows = [said(label, "x") for label in ("head", "GPU", "", "MEMORY", "", "NEXT")]
    assert [row.label for row in fitting(rows, 5)] == ["head", "GPU", "", "MEMORY", "NEXT"]


def test_pieces_that_do_not_fit_are_left_out() -> None:
    line = Said("SLOW", ["loading", ": loader.py:11", " in __getitem__" * 5])
    assert page([line], width=40) == "SLOW    loading: loader.py:11\n"
    assert page([line], width=200).endswith("__getitem__\n")


@pytest.mark.parametrize(("share", "bound"), [(0.5, 2.0), (0.0, 1.0), (0.999, None)])
def test_a_gain_is_limited_by_the_remaining_time(share: float, bound: float | None) -> None:
    assert gain(share) == bound


def test_figures_of_the_first_screen() -> None:
    assert (times(2.56), times(61.5), whole_percent(0.004), whole_percent(0.61)) == (
        "2.6x",
        "62x",
        "<1 %",
        "61 %",
    )


def test_the_picture_of_steps_is_written(tmp_path: Path) -> None:
    path = tmp_path / "steps.svg"
    Results(steps().recording(tmp_path).path).plot(str(path))
    drawn = path.read_text()
    for text in ("What each step is made of", "median 100 ms", "forward", "optimizer"):
        assert text in drawn, text
    program = Program(**META)
    program.thread(1)
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="there are no steps to draw"):
        Results(program.recording(tmp_path / "none").path).plot(str(path))
