"""The words with which rules say how a change is tried are those of `--try`, with the same check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import perfprobe
from perfprobe.collect.tries.declared import TRIES, asked
from perfprobe.tables.advice import Check
from tests.diagnose.advice.made import NEXT, Part, advised, processors, program
from tests.diagnose.advice.test_training import update

RULES = Path(perfprobe.__file__).parent / "diagnose/advice"
_WORD = re.compile("|".join(rf"{name}(?:=.*)?" for name in TRIES))


def words() -> Iterator[str]:
    """All texts of the rules that are such a word, with a number in place of a value."""
    for path in RULES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if _WORD.fullmatch(text) and ("=" in text or not TRIES[text].values):
                yield text.replace("{}", "2") + ("2" if text.endswith("=") else "")


def test_every_word_can_be_tried() -> None:
    found = sorted(set(words()))
    assert len(found) > 10
    for word in found:
        asked([word])


def test_the_results_are_checked_as_the_word_says(tmp_path: Path) -> None:
    made = program(Part(NEXT, 46, 20, scope=7), update(40), update_ms=0.001)
    found = advised(made, tmp_path, processors(4, 1))
    for rule, word in (("workers", "workers"), ("optimizer", "fused")):
        assert found[rule].check is Check[TRIES[word].check]
