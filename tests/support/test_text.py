"""Text made safe to print."""

from __future__ import annotations

import pytest

from perfprobe.support.text import encodable


@pytest.mark.parametrize(
    ("encoding", "shown"), [("utf-8", "a · b…"), ("latin-1", "a · b?"), ("ascii", "a ? b?"), (None, "a · b…")]
)
def test_what_an_encoding_lacks_is_a_question_mark(encoding: str | None, shown: str) -> None:
    assert encodable("a · b…", encoding) == shown
