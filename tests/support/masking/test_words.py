"""Secrets of a command line are masked, and everything else is kept."""

import re
from pathlib import Path

import pytest

from perfprobe.support.masking.shapes import forms_in, without_forms
from perfprobe.support.masking.words import masked

SECRET, HEX = "S3CR3T", "0a1b2c3d4e" * 4
WHAT_IS_LEFT = re.compile(r"S3|CR3T|0a1b2c|0123456789abcdef")


def lines(name: str) -> list[str]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("# ")]


def words(line: str) -> list[str]:
    line = line.replace("LONG", SECRET * 5).replace("HEX32", HEX[:32]).replace("HEX", HEX)
    return [word.replace("␣", " ") for word in line.split(" ")]


def test_a_secret_is_masked() -> None:
    shown = {line: masked(words(line)) for line in lines("secrets.txt")}
    assert len(shown) >= 60
    assert [line for line, found in shown.items() if WHAT_IS_LEFT.search(" ".join(found))] == []
    assert [line for line, found in shown.items() if "***" not in " ".join(found)] == []
    # Children of a recorded process mask what was masked.
    assert [line for line, found in shown.items() if masked(found) != found] == []


def test_other_text_is_kept() -> None:
    assert len(lines("plain.txt")) >= 60
    assert [line for line in lines("plain.txt") if masked(words(line)) != words(line)] == []


def test_text_around_a_secret_is_kept() -> None:
    assert masked(["--token=a b c", "https://h/?token=x&page=2", "--token", "--lr", "3"]) == [
        *("--token=***", "https://h/?token=***&page=2", "--token", "--lr", "3"),
    ]
    assert masked(["git+https://me:x@host/r", '{"password":"a,b","lr":1}', "--set=a=1,token=x,b=2"]) == [
        *("git+https://***@host/r", '{"password":"***","lr":1}', "--set=a=1,token=***,b=2"),
    ]
    assert masked(["--api-keys", "a", "b", "--lr", "3", "-u", "me:x", "file"]) == [
        *("--api-keys", "***", "***", "--lr", "3", "-u", "***", "file"),
    ]


def test_a_word_that_is_no_text_is_left_out() -> None:
    assert masked(["a.py", 3, "--token", "x"]) == ["a.py", "(?)", "--token", "***"]  # type: ignore[list-item]


def test_only_forms_whose_beginning_is_there_are_looked_for() -> None:
    assert forms_in("train.py --lr 0.1 data/n01440764_10026.JPEG") == []
    forms = forms_in("npm_")
    assert len(forms) == 1
    assert without_forms("npm_" + "a" * 36, forms) == "***"


UNITS = (
    *("a", "1", "=", "a=", "key=", "code=", "token=", "'", '"', '\\"', 'key="', 'code="', "code=[", "["),
    *("://", "a://", "://a:", "a:", "@", "a@", "://a@", "x:y@", " ", " a", "eyJ", "eyJ-", "eyJa.", "hf_"),
    *("sk-", "-sk-", "SG.a.", "a8Q~", "1:AA", "-----BEGIN PRIVATE KEY-----", "-----BEGIN", ",", ",a="),
    *("token ", "login ", "-u ", "{", '{"token":{', "%3D", "code: ", "code=a, b", "sid=1", "keys=[1,"),
    *("=a:b@", "a.b=", "\x00", "\ud800"),
)


@pytest.mark.parametrize("unit", UNITS)
def test_the_longest_argument_is_read_once_and_not_again_from_each_letter(unit: str) -> None:
    """If the work grew by the square, this would not end: that of 131,000 letters is 17 thousand million."""
    assert masked([(unit * 131_000)[:131_000]])
