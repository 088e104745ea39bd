"""Dtypes, attention, growing results, and what bench measured: with the code that is changed."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from perfprobe.diagnose.advice.advice import advice
from perfprobe.tables.advice import Check, Got
from perfprobe.tables.judgements import Growing, NeedlessForward, Recomputed
from perfprobe.tables.measurements import Counterfactual, Seen, Verdict, Wanted
from perfprobe.tables.memory import MemoryUse
from tests.diagnose.advice.made import Part, advised, judged, program, untold
from tests.report.measured import around, bmm, measured

_WITHOUT_QUICK = "perfprobe bench without --quick"
SOURCE = [
    *("import torch", "", "def attention(q, k, v):", "    att = q @ k.transpose(-2, -1)"),
    *("    att = att.softmax(dim=-1)", "    y = att @ v", "    {returned}", ""),
    *("def main(data):", "    x = torch.from_numpy(data)", "    out = torch.cat([out, x], dim=1)"),
    *("    model.double()", "    h = checkpoint(block, x, y)", "    z = teacher(x)"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def source(returned: str = "return y") -> list[str]:
    return [line.format(returned=returned) for line in SOURCE]


@pytest.mark.parametrize(
    ("inputs", "ms", "is_said"),
    [
        ("f64[64,64] f64[64,64]", 40, True),
        ("f64[64,64] f64[64,64]", 5, False),
        ("f64[64] f32[64]", 40, False),
    ],
    ids=["much", "little", "mixed"],
)
@pytest.mark.parametrize(
    ("line", "code"),
    [(10, "x = torch.from_numpy(data).float()"), (12, "model.float()")],
    ids=["data", "model"],
)
def test_float32_instead_of_float64(
    here: Path, inputs: str, ms: float, is_said: bool, line: int, code: str
) -> None:
    converts = Part("aten::copy_", 0.1, line, inputs="f64[64] f32[64]")
    made = program(converts, Part("aten::bmm", ms, 21, inputs=inputs), folder=str(here), source=source())
    found = advised(made, here)
    assert ("float64" in found) is is_said
    if is_said:
        change = found["float64"]
        assert (change.snippet, change.tries, change.check) == (code, ("float32",), Check.DTYPE)
        assert change.share == pytest.approx(0.5 * 40 / 94, abs=0.01)  # half of that time


def attends(ms: float = 4, products: int = 2) -> list[Part]:
    at: dict[str, Any] = {"function": "attention"}
    parts = [
        Part("aten::bmm", ms, 4, **at),
        Part("aten::_softmax", ms, 5, **at),
        Part("aten::bmm", ms, 6, **at),
    ]
    return [parts[1], *parts[::2][:products]]


@pytest.mark.parametrize(
    ("parts", "returned", "is_said"),
    [
        (attends(), "return y", True),
        (attends(), "return y, att", False),
        (attends(1), "return y", False),
        (attends(8, 1), "return y", False),
        ([each._replace(line=max(each.line, 5)) for each in attends()][::-1], "return y", True),
        ([each._replace(line=6) if each.line == 4 else each for each in attends()], "return y", False),
        ([], "return y", False),
    ],
    ids=[
        "attention",
        "weights returned",
        "little",
        "softmax and one product",
        "one line",
        "both products behind it",
        "none",
    ],
)
def test_attention_as_one_operator(here: Path, parts: list[Part], returned: str, is_said: bool) -> None:
    found = advised(program(*parts, folder=str(here), source=source(returned)), here)
    assert ("attention" in found) is is_said
    if is_said:
        code = found["attention"].snippet.partition("  #")[0]
        assert code == "y = F.scaled_dot_product_attention(q, k, v)"


@pytest.mark.parametrize("is_recorded", [True, False])
def test_what_other_rules_found_is_a_change_of_its_line(here: Path, is_recorded: bool) -> None:
    """The judgements have their own tests: here is what is made of them. is_recorded: whether memory was."""
    use: Any = MemoryUse(**dict.fromkeys((each.name for each in fields(MemoryUse)), 0))  # type: ignore[arg-type]
    lines = {line: Part("aten::bmm", 60 if line == 11 else 1, line) for line in (11, 13, 14)}
    made = program(*lines.values(), folder=str(here), source=source())
    frames = {line: made.frame(f"{here}/train.py:{line} main") for line in lines}
    given = Growing(frames[11], 9, 0.5), Recomputed(frames[13], 0.3), NeedlessForward(frames[14], 0.2)
    found = advice(judged(made, here).plus(*given, *([use] if is_recorded else [])))
    assert found is not None
    assert ("recomputed" in {each.rule for each in found.untold}) is not is_recorded
    expected = [
        ("cat-in-loop", 0.5, "parts.append(x)  # in the loop\nout = torch.cat(parts, dim=1)  # after it"),
        ("recomputed", 0.3, "block(x, y)"),
        ("unused-forward", 0.2, "with torch.no_grad():\n    z = teacher(x)"),
    ]
    said = [(each.rule, each.share, each.snippet) for each in found.changes]
    assert said == [each for each in expected if is_recorded or each[0] != "recomputed"]
    assert found.best is found.changes[0]


@pytest.mark.parametrize(
    ("line", "ms", "is_said"),
    [(15, 20, True), (15, 2, False), (14, 20, False)],
    ids=["much", "little", "no text"],
)
def test_copies_to_contiguous_memory(here: Path, line: int, ms: float, is_said: bool) -> None:
    text = [*source(), "    y = y.permute(0, 2, 1).contiguous()"]
    made = program(Part("aten::copy_", ms, line), folder=str(here), source=text)
    found = advised(made, here)
    assert ("conversions" in found) is is_said
    if is_said:
        assert found["conversions"].snippet == "y = y.permute(0, 2, 1)"


KINDS = {"bf16": "dtype", "denormals": "flushed", "channels-last": "channels_last"}


@pytest.mark.parametrize(
    ("rule", "speedup", "is_said"),
    [("bf16", 2.0, True), ("bf16", 1.4, False), ("denormals", 3.0, True), ("denormals", 1.1, False)],
)
def test_what_bench_measured_is_carried_to_the_step(
    tmp_path: Path, rule: str, speedup: float, is_said: bool
) -> None:
    """The operator has 80 % of all operators, which have 50 of 54 ms of a step."""
    seen = Seen(calls=8, share=0.8, self_ns=1, total_ns=1, cpu_ns=None)
    change = Counterfactual(KINDS[rule], "as it says", around(speedup))
    found = advised(program(), tmp_path, measured(bmm(seen=seen, counterfactuals=(change,))))
    assert (rule in found) is is_said
    if is_said:
        assert found[rule].got is Got.REPLAYED
        assert found[rule].share == pytest.approx(0.8 * (1 - 1 / speedup) * 50 / 54, abs=0.01)
        ends = (0.8 * (1 - 1 / (speedup * (1 + sign * 0.02))) * 50 / 54 for sign in (-1, 1))
        assert [found[rule].least, found[rule].most] == pytest.approx(list(ends), abs=0.01)


@pytest.mark.parametrize(
    ("speedup", "share", "is_said"),
    [(4.0, 0.8, True), (4.0, 0.02, False), (1.1, 0.8, False)],
    ids=["fast", "of little", "no faster"],
)
def test_a_faster_form_is_a_change_of_its_line(
    tmp_path: Path, speedup: float, share: float, is_said: bool
) -> None:
    seen = Seen(calls=8, share=share, self_ns=1, total_ns=1, cpu_ns=None)
    form = Counterfactual("equivalent", "x.amax(dim)", around(speedup))
    wanted = Wanted("aten::mm", "f32[64,128] f32[128,64]")
    row = replace(bmm(seen=seen, counterfactuals=(form,)), wanted=wanted)
    found = advised(program(), tmp_path, measured(row))
    assert ("faster-form" in found) is is_said
    if is_said:
        made = found["faster-form"]
        assert made.share == pytest.approx(share * (1 - 1 / speedup) * 50 / 54, abs=0.01)
        assert made.snippet.startswith("x.amax(dim)")
        assert made.frame >= 0


@pytest.mark.parametrize(
    ("kind", "share", "is_said"),
    [("overhead-bound", 0.8, True), ("overhead-bound", 0.3, False), ("memory-bound", 0.8, False)],
)
def test_operators_that_are_mostly_overhead(tmp_path: Path, kind: str, share: float, is_said: bool) -> None:
    seen = Seen(calls=8, share=share, self_ns=1, total_ns=1, cpu_ns=None)
    found = advised(program(), tmp_path, measured(bmm(seen=seen, verdict=Verdict(kind, kind))))
    assert ("compile" in found) is is_said


@pytest.mark.parametrize(("part", "is_said"), [(0.5, True), (0.2, False)])
def test_page_faults_on_new_memory(tmp_path: Path, part: float, is_said: bool) -> None:
    seen = Seen(calls=8, share=0.8, self_ns=1, total_ns=1, cpu_ns=None)
    found = advised(program(), tmp_path, measured(bmm(seen=seen, fault_part=around(part))))
    assert ("huge-pages" in found) is is_said


def test_without_bench_its_rules_cannot_tell(tmp_path: Path) -> None:
    convolves = Part("aten::mkldnn_convolution", 40, 22, inputs="f32[8,8,8,8] f32[8,8,3,3]")
    known = untold(judged(program(), tmp_path))
    of_bench = {rule for rule, needs in known.items() if needs == "perfprobe bench"}
    assert of_bench == {"bf16", "denormals", "huge-pages"}
    assert "channels-last" in untold(judged(program(convolves), tmp_path))
    change = Counterfactual("padded", "K 13→16", around(1.0))
    whole = untold(judged(program(), tmp_path, measured(bmm(counterfactuals=(change,)))))
    quick = untold(judged(program(), tmp_path, measured(bmm())))
    assert not of_bench & whole.keys()
    seen = Seen(calls=8, share=0.9, self_ns=1, total_ns=1, cpu_ns=None)
    halves = [bmm(counterfactuals=(change,)), bmm(seen=seen)]  # no time was left for the second
    assert untold(judged(program(), tmp_path, measured(*halves)))["bf16"].endswith("a longer --time")
    assert {quick[rule] for rule in ("bf16", "denormals")} == {_WITHOUT_QUICK}
