"""What is installed beside the compiler."""

from __future__ import annotations

import re
from importlib import metadata

import pytest

from tests.test_release import script


def test_extras_of_the_project_stand_for_theirs() -> None:
    extras = {"a": ["bread>=1", "it[b,c]"], "b": ["salt"], "c": ["it[b]", "water[hot]"]}
    found = script("requirements").of({"name": "it", "optional-dependencies": extras}, "a")
    assert list(found) == ["bread>=1", "salt", "salt", "water[hot]"]


def test_they_are_those_of_the_installed_package(capsys: pytest.CaptureFixture[str]) -> None:
    script("requirements").main("dev")
    printed = {re.split(r"[\s;<>=\[]", line)[0] for line in capsys.readouterr().out.splitlines()}
    known = [re.split(r"[\s;<>=\[]", text)[0] for text in metadata.requires("perfprobe") or ()]
    assert printed == set(known) - {"perfprobe"}
