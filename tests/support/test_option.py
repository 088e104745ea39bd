from __future__ import annotations

from typing import Any

import pytest

from perfprobe.support.errors import UsageError
from perfprobe.support.option import CHILDREN, PYTHON, RECORDING, Chosen, declared, option


class Meal(Chosen):
    """What a person may order."""

    places = (PYTHON, RECORDING)
    soup: str = option("none", "which soup", values=("none", "red", "clear"), called="soup", alone="red")
    spoons: int = option(1, "how many", kind="steps", flag="--cutlery", places=(CHILDREN, PYTHON))
    sauce: str | None = option(None, "which", values=("hot",), called="sauce", gone={"cold": "take hot"})


def test_missing_options_have_their_default() -> None:
    assert vars(Meal()) == {"soup": "none", "spoons": 1, "sauce": None}
    assert vars(Meal(spoons=2, sauce="hot")) == {"soup": "none", "spoons": 2, "sauce": "hot"}


@pytest.mark.parametrize(("given", "soup"), [(True, "red"), (False, "none"), ("clear", "clear")])
def test_true_means_the_flag_without_a_value(given: object, soup: str) -> None:
    assert Meal(soup=given).soup == soup


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"soup": "green"}, "there is no soup 'green'; choose from none, red, clear"),
        ({"soup": ["red"]}, "there is no soup ['red']"),
        ({"sauce": "cold"}, "--sauce cold was removed; take hot"),
        ({"sauce": 1}, "there is no sauce 1"),
    ],
)
def test_unknown_values_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        Meal(**given)
    assert said in str(error.value)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="there is no option bread; there are soup, spoons, sauce"):
        Meal(bread=1)


def test_options_belong_to_their_commands() -> None:
    meal = Meal(spoons=3)
    assert meal.of(PYTHON) == {"soup": "none", "spoons": 3, "sauce": None}
    assert meal.of(RECORDING) == {"soup": "none", "sauce": None}
    assert meal.of(CHILDREN) == {"spoons": 3}
    assert [one.flag for one in declared(Meal)] == ["--soup", "--cutlery", "--sauce"]
