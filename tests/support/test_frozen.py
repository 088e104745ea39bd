"""`frozen` classes, compared with the same classes by the standard library's dataclasses."""

from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest

from perfprobe.support.frozen import frozen


@frozen
class Base:
    name: str
    words: tuple[str, ...] = ()


@frozen
class Ours(Base):
    found: list[int] = field(default_factory=list)
    count: int = 3

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError("fewer than none")


@frozen(kw_only=True)
class Named:
    first: int
    second: int = 2


@dataclass(frozen=True)
class GeneratedBase:
    name: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Generated(GeneratedBase):
    found: list[int] = field(default_factory=list)
    count: int = 3


def both(*values: Any, **named: Any) -> tuple[Ours, Generated]:
    return Ours(*values, **named), Generated(*values, **named)


@pytest.mark.parametrize(
    ("values", "named"),
    [(("a",), {}), (("a", ("b",), [1], 4), {}), (("a",), {"count": 5}), ((), {"name": "a", "words": ("b",)})],
)
def test_values_equal_those_of_a_dataclass(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, generated = both(*values, **named)
    assert asdict(ours) == asdict(generated)
    assert repr(ours) == repr(generated).replace("Generated", "Ours")
    assert [each.name for each in fields(ours)] == [each.name for each in fields(generated)]
    assert asdict(replace(ours, count=7)) == asdict(replace(generated, count=7))
    assert ours == Ours(*values, **named)
    assert ours != replace(ours, count=8)
    other: Any = generated
    assert ours != other


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        (("a", (), [], 1, 2), {}),
        (("a",), {"name": "b"}),
        (("a",), {"other": 1}),
        ((), {"count": 1}),
    ],
)
def test_wrong_arguments_are_refused_as_by_a_dataclass(
    values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    for kind in (Ours, Generated):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_attributes_cannot_be_assigned_or_deleted() -> None:
    made: Any
    for made in both("a"):
        with pytest.raises(FrozenInstanceError):
            made.name = "b"
        with pytest.raises(FrozenInstanceError):
            del made.name


def test_equal_objects_are_one_key_and_factories_run_each_time() -> None:
    assert len({Base("a"), Base("a"), Base("b")}) == 2
    assert Ours("a").found is not Ours("a").found


def test_checks_of_the_class_run() -> None:
    with pytest.raises(ValueError, match="fewer"):
        Ours("a", count=-1)


def test_keyword_only_fields_refuse_positional_arguments() -> None:
    assert asdict(Named(first=1)) == {"first": 1, "second": 2}
    kind: Any = Named
    with pytest.raises(TypeError):
        kind(1)
