from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from perfprobe.tables.columns import Combine, Int32, Int64, Itself, Table, Text, among, column, distinct
from perfprobe.tables.strings import Strings


class Pairs(Table):
    time_ns: Int64
    name: Int32


class Notes(Table):
    text: Text


class Trees(Table, name="trees", most_rows=9):
    """Made up."""

    parent: Int32 = column("the tree it grew from", Itself)
    label: Int32 = column("its name", Strings)
    height: Int64 = column("how high it is", unit="metres", combine=Combine.MOST, optional=True)
    grown_ns: Int64 = column("how long it took", combine=Combine.SUM)


class Oaks(Trees):
    """With more columns than other trees."""

    acorns: Int64 = column("how many it has", combine=Combine.SUM)


def pairs(*rows: tuple[int, int]) -> Pairs:
    return Pairs(np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.int32))


def test_length_take_and_concat() -> None:
    both = Pairs.concat([pairs((1, 2), (3, 4)), Pairs.empty(), pairs((5, 6))])
    assert len(both) == 3
    assert both.take(np.array([2, 0])).time_ns.tolist() == [5, 1]
    assert both.take(both.name > 2).name.tolist() == [4, 6]
    assert len(Pairs.concat([])) == 0
    assert list(both.columns()) == ["time_ns", "name"]


@pytest.mark.parametrize(
    "rows", [np.array([2, 0]), np.array([True, False, True]), slice(1, 3), slice(None, None, -2)]
)
def test_a_value_that_all_rows_share_is_once_in_memory(rows: npt.NDArray[Any] | slice) -> None:
    table = pairs((7, 1), (7, 2), (7, 3))
    taken = table.compact().take(rows)
    assert taken.time_ns.tolist() == table.take(rows).time_ns.tolist()
    assert taken.name.tolist() == table.take(rows).name.tolist()
    assert (taken.time_ns.strides, taken.name.strides) == ((0,), table.take(rows).name.strides)


def test_columns_are_read_only_but_the_callers_array_is_not() -> None:
    given = np.zeros(2, np.int64)
    table = Pairs(given, np.zeros(2, np.int32))
    with pytest.raises(ValueError, match="read-only"):
        table.time_ns[0] = 1
    given[0] = 1


def test_text_columns() -> None:
    notes = Notes(np.array(["a", "b"], np.object_))
    assert Notes.concat([notes, notes]).text.tolist() == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("time_ns", "name"),
    [
        (np.zeros(2, np.int64), np.zeros(3, np.int32)),
        (np.zeros(2, np.int64), np.zeros(2, np.int64)),
        (np.zeros((2, 1), np.int64), np.zeros(2, np.int32)),
        ([0, 0], np.zeros(2, np.int32)),
    ],
    ids=["length", "dtype", "dimension", "list"],
)
def test_wrong_columns_are_refused(time_ns: Int64, name: Int32) -> None:
    with pytest.raises(ValueError, match="Pairs"):
        Pairs(time_ns, name)


def test_a_table_describes_itself() -> None:
    assert (Trees.table_name, Trees.most_rows) == ("trees", 9)
    assert (Oaks.table_name, Oaks.most_rows) == ("", None)
    assert Trees.references() == {"parent": Trees, "label": Strings}
    assert Trees.described["height"].meaning == "how high it is"
    assert [found.unit for found in Oaks.described.values()] == ["", "", "metres", "ns", ""]
    assert Oaks.combined(Combine.SUM) == ("grown_ns", "acorns")
    assert Oaks.combined(Combine.MOST, Combine.SUM, optional=False) == ("grown_ns", "acorns")
    assert Oaks.combined(Combine.MOST, Combine.SUM, optional=True) == ("height",)


def test_a_subset_of_columns() -> None:
    part = Pairs.part({"time_ns": np.array([1, 2, 3])})
    assert len(part) == 3
    assert part.take(part.time_ns > 1).time_ns.tolist() == [2, 3]
    assert Pairs.concat([part, part]).time_ns.tolist() == [1, 2, 3] * 2
    with pytest.raises(AttributeError, match="name"):
        part.name  # noqa: B018
    with pytest.raises(ValueError, match=r"Pairs.time_ns: not a column of int64"):
        Pairs.part({"time_ns": np.zeros(2, np.int32)})


def test_invalid_columns_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Odd.size: no type of a column"):
        type("Odd", (Table,), {"__annotations__": {"size": "float"}})


@pytest.mark.parametrize("values", [[], [7], [3, -1, 3, 2, -1], [[5, 1], [1, 5]]])
def test_distinct_values_equal_those_of_numpy(values: list[object]) -> None:
    column = np.array(values, np.int64)
    assert distinct(column).tolist() == np.unique(column).tolist()


@pytest.mark.parametrize("members", [[], [7], [3, -1, 3], [9, 2, -5]])
@pytest.mark.parametrize("values", [[], [7], [3, -1, 3, 2, -1]])
def test_membership_equals_that_of_numpy(values: list[int], members: list[int]) -> None:
    column = np.array(values, np.int32)
    assert among(column, members).tolist() == np.isin(column, members).tolist()


def test_a_table_is_frozen_and_accepts_only_its_columns() -> None:
    made = pairs((1, 2))
    with pytest.raises(FrozenInstanceError):
        made.name = made.time_ns  # type: ignore[misc, assignment]
    with pytest.raises(FrozenInstanceError):
        del made.name
    named: dict[str, Any] = {"time_ns": made.time_ns, "name": made.name}
    assert Pairs(**named).time_ns.tolist() == [1]
    for wrong in ({"time_ns": made.time_ns}, {**named, "other": made.name}, {"time_ns": 1, "x": 2}):
        columns: dict[str, Any] = wrong
        with pytest.raises(TypeError, match="has the columns time_ns, name"):
            Pairs(**columns)
    with pytest.raises(TypeError):
        Pairs(made.time_ns, made.name, **{"name": made.name})
