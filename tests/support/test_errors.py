import pytest

from perfprobe.support.errors import EnvironmentLack, InputError, PerfprobeError, UsageError
from perfprobe.support.text import printable


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UsageError("no script"), "no script"),
        (UsageError("no script", "", "name one"), "no script; name one"),
        (InputError("not a file", "a.py"), "not a file: a.py"),
        (InputError("not a file", "a.py", "name a file"), "not a file: a.py; name a file"),
    ],
)
def test_an_error_is_one_line(error: PerfprobeError, text: str) -> None:
    assert str(error) == text


def test_hostile_text_stays_on_one_line() -> None:
    assert str(InputError("bad", "a\nb\x1b[31m")) == "bad: a b\\x1b[31m"


def test_exit_codes_of_errors() -> None:
    assert (UsageError.exit_code, InputError.exit_code, EnvironmentLack.exit_code) == (2, 3, 4)


def test_printable_escapes_control_characters() -> None:
    assert printable("größe ü 漢字") == "größe ü 漢字"
    assert printable("\x1b\x07\x9b\u202e\u200b\ud800") == "\\x1b\\x07\\x9b\\u202e\\u200b\\ud800"
