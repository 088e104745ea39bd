"""Text made safe to print."""

from __future__ import annotations

import json

import pytest

from perfprobe.support.text import encodable, harmless


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


def test_a_terminal_acts_on_nothing_in_an_output_except_colours() -> None:
    plain = "a\tb\n\x1b[1;31mfail\x1b[0m größe ██ 漢字\n"
    assert harmless(plain) == plain
    evil = "a\x1b]0;owned\x07\x9b2J\x1b[2J\r\u202e\x7f\u2028\ud800\U000e0041\n\x1b[0m"
    assert harmless(evil) == (
        "a\\u001b]0;owned\\u0007\\u009b2J\\u001b[2J\\u000d\\u202e\\u007f\\u2028\\ud800\\U000e0041\n\x1b[0m"
    )


def test_json_stays_what_it_is() -> None:
    value = {"\x7f\x1b\u202e": "\n\x9b"}
    assert json.loads(harmless(json.dumps(value, indent=1))) == value
