"""Text made safe to print."""

from __future__ import annotations

import pytest

from perfprobe.support.text import encodable


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "a · b… ██▎ ⋮ é"),
        ("latin-1", "a · b> ### : é"),
        ("ascii", "a | b> ### : ?"),
        ("cp437", "a · b> ██# : é"),
        (None, "a · b… ██▎ ⋮ é"),
    ],
)
def test_characters_missing_in_an_encoding_are_replaced(encoding: str | None, shown: str) -> None:
    assert encodable("a · b… ██▎ ⋮ é", encoding) == shown
