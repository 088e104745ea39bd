"""What to change: the line TRY, the section, and the words that name the same change elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from perfprobe import words
from perfprobe.models.rules import RULES
from perfprobe.report.render.markdown import brief
from perfprobe.report.render.text import first_screen, render
from perfprobe.report.section.advice import advice_tables
from perfprobe.report.section.screen.screen import fitting, screen_rows
from perfprobe.tables.advice import Advice
from perfprobe.tables.findings import Findings
from perfprobe.tables.measurements import Counterfactual, Seen
from perfprobe.tables.processors import Processors
from tests.diagnose.advice.made import NEXT, Part, judged, processors, program
from tests.diagnose.advice.test_loading import SOURCE
from tests.diagnose.advice.test_training import update
from tests.report.measured import around, bmm, measured
from tests.snapshots import Snapshot

IDLE = processors(4, 1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loading(
    folder: Path, cores: Processors = IDLE, ms: float = 46, *others: object, **meta: object
) -> Findings:
    made = program(
        Part(NEXT, ms, 20, scope=7), update(40), folder=str(folder), source=SOURCE, update_ms=0.001, **meta
    )
    return judged(made, folder, cores, *others)


def tried(findings: Findings) -> list[str]:
    """TRY with its continuation."""
    rows = fitting(screen_rows(findings))
    at = next((at for at, row in enumerate(rows) if row.label == "TRY"), None)
    own = [] if at is None else rows[at : at + 2]
    return [row.text for row in own if row.label in ("TRY", "")]


def test_the_best_change_is_a_line_with_its_command(here: Path) -> None:
    findings = loading(here, program={"argv": ["train.py", "--epochs", "1 2"]})
    assert tried(findings) == [
        "num_workers=2 at train.py:7, at most 1.7x",
        "perfprobe advise --try workers=2 train.py --epochs '1 2'",
    ]
    assert "NEXT" not in [row.label for row in screen_rows(findings)]
    assert max(map(cell_len, first_screen(findings, width=80).splitlines())) <= 80


def test_what_bench_measured_has_an_interval(here: Path) -> None:
    seen = Seen(calls=8, share=0.8, self_ns=1, total_ns=1, cpu_ns=None)
    change = Counterfactual("dtype", "as it says", around(2.0, 0.2))
    findings = judged(program(), here, measured(bmm(seen=seen, counterfactuals=(change,))))
    assert tried(findings)[0].endswith("1.6x (1.4 to 1.8x)")


def test_without_a_change_worth_it_there_is_none(here: Path) -> None:
    findings = judged(program(), here, IDLE)
    assert tried(findings) == []
    assert "NEXT" in [row.label for row in screen_rows(findings)]


def test_all_changes_with_code_share_check_and_command(here: Path, snapshot: Snapshot) -> None:
    findings = loading(here)
    texts = [render(findings, width=width, view="advice") for width in (80, 160)]
    snapshot("\n".join(texts))


def test_json_and_brief_have_all_with_ids(here: Path) -> None:
    findings = loading(here)
    rows = advice_tables(findings)["advice"]
    assert [re.sub("@.*/", "@", row.id) for row in rows] == ["workers@train.py:7", "optimizer@train.py:24"]
    assert [row.is_best for row in rows] == [True, False]
    shown = brief(findings)
    assert all(f"`{row.rule}@" in shown for row in rows)
    assert [row.rule for row in advice_tables(findings)["advice_unknown"]] == [
        each.rule for each in findings[Advice].untold
    ]


def test_every_rule_is_explained() -> None:
    for name, rule in RULES.items():
        (word,) = [word for word in words.explained(name) if word.kind == "rule"]
        assert all(part in word.text for part in (rule.checks, rule.caution, rule.source))
    (word,) = [word for word in words.explained("float64") if word.kind == "rule"]
    assert "At most 50 %" in word.text


def test_what_try_says_is_not_said_again(here: Path) -> None:
    """float64 is the best change here, and is not without it."""
    part = Part("aten::bmm", 40, 22, inputs="f64[64,64] f64[64,64]")
    slow = judged(program(part), here)
    also = [row.text for row in screen_rows(slow) if row.label == "ALSO"]
    assert [each.partition(" of ")[0] for each in also] == ["43 %"]
    assert "float32" in tried(slow)[0]
    beside = judged(program(part, Part(NEXT, 60, 20, scope=7)), here, IDLE)
    also = [row.text for row in screen_rows(beside) if row.label == "ALSO"]
    assert [each[:4] for each in also] == ["23 %"]
    assert tried(beside)[0].startswith("num_workers=")
