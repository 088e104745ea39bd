from __future__ import annotations

import difflib

import pytest

from perfprobe.support.nearest import nearest, suggestion
from perfprobe.support.views import VIEWS


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("letters", ["{0}s", "x{0}"])
def test_a_name_with_a_letter_too_many_means_that_name(view: str, letters: str) -> None:
    word = letters.format(view)
    most = max(difflib.SequenceMatcher(None, name, word).ratio() for name in VIEWS)
    meant = nearest(word, VIEWS)
    assert meant is not None
    assert difflib.SequenceMatcher(None, meant, word).ratio() == most


def test_a_word_like_no_other_means_nothing() -> None:
    assert nearest("qqqq", VIEWS) is None
    assert nearest("lines", []) is None
    assert suggestion("qqqq", VIEWS, "look") == "look"


def test_case_does_not_matter() -> None:
    assert nearest("TRAIN.PY", ["train.py", "model.py"]) == "train.py"
    assert nearest("cputotal", ["CPUTotal"]) == "CPUTotal"
