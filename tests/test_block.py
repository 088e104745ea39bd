"""The signatures written out for editors and people agree with the declared options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from perfprobe.block import Profile, profile
from perfprobe.collect.options import Options
from perfprobe.support.option import PYTHON, Chosen, declared
from perfprobe.support.view import View
from perfprobe.support.views import VIEWS

BOTH = pytest.mark.parametrize(("function", "kind"), [(profile, Options), (Profile.report, View)])


@BOTH
def test_arguments_are_the_declared_options(function: Callable[..., Any], kind: type[Chosen]) -> None:
    _, *arguments = inspect.signature(function).parameters.values()
    assert {one.kind for one in arguments} == {inspect.Parameter.KEYWORD_ONLY}
    assert {one.name: one.default for one in arguments} == {
        option.name: option.default for option in declared(kind, PYTHON)
    }


@BOTH
def test_descriptions_of_arguments_name_their_values(
    function: Callable[..., Any], kind: type[Chosen]
) -> None:
    said = inspect.cleandoc(function.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0]
    found = {name: text for name, text in re.findall(r"^    (\w+): ((?:.|\n {8})*)", said, re.MULTILINE)}
    options = declared(kind, PYTHON)
    assert list(found)[-len(options) :] == list(inspect.signature(function).parameters)[1:]
    for option in options:
        named = set(re.findall(r'"([\w.-]+)"', found[option.name]))
        is_listed = option.name == "view"  # too many to say them again: `perfprobe explain` lists them
        assert named and named <= set(VIEWS) if is_listed else set(option.values) <= named, option.name
