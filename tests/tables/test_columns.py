from dataclasses import dataclass

import numpy as np
import pytest

from perfprobe.tables.columns import Int32, Int64, Table, Text


@dataclass(frozen=True)
class Pairs(Table):
    time_ns: Int64
    name: Int32


@dataclass(frozen=True)
class Notes(Table):
    text: Text


def pairs(*rows: tuple[int, int]) -> Pairs:
    return Pairs(np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.int32))


def test_length_take_and_concat() -> None:
    both = Pairs.concat([pairs((1, 2), (3, 4)), Pairs.empty(), pairs((5, 6))])
    assert len(both) == 3
    assert both.take(np.array([2, 0])).time_ns.tolist() == [5, 1]
    assert both.take(both.name > 2).name.tolist() == [4, 6]
    assert len(Pairs.concat([])) == 0
    assert list(both.columns()) == ["time_ns", "name"]


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
