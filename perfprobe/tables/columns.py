"""The base of all tables: read-only numpy columns of equal length, each of which describes itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from perfprobe.support.frozen import frozen

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # typing has it from Python 3.11 on

    def dataclass_transform(**_: Any) -> Callable[[type], type]:
        """Marks subclasses as dataclasses for type checkers."""
        return lambda kind: kind


Int64: TypeAlias = npt.NDArray[np.int64]
Int32: TypeAlias = npt.NDArray[np.int32]
Int8: TypeAlias = npt.NDArray[np.int8]
Text: TypeAlias = npt.NDArray[np.object_]
Mask: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = npt.NDArray[np.intp]

TEXT = np.dtype(np.object_)

MOST_EVENTS = 67_108_864  # rows of a table of events: hours of a busy device, some gigabytes in memory

_KINDS: tuple[tuple[str, object, np.dtype[Any]], ...] = (
    ("Int64", Int64, np.dtype(np.int64)),
    ("Int32", Int32, np.dtype(np.int32)),
    ("Int8", Int8, np.dtype(np.int8)),
    ("Mask", Mask, np.dtype(np.bool_)),
    ("Text", Text, TEXT),
)
# An annotation is the type's name if its file postpones annotations, else the type itself.
_DTYPES = {str(key): dtype for name, kind, dtype in _KINDS for key in (name, kind)}

_UNITS = {"_ns": "ns", "_bytes": "bytes", "_ppm": "millionths"}  # by the end of a column's name

SomeTable = TypeVar("SomeTable", bound="Table")


class Combine(Enum):
    """How the values of several rows are combined in a row that represents them."""

    NONE = "none"  # the value that all of them have
    SUM = "sum"
    OUTERMOST = "sum of the outermost calls"  # a call within another call of the row is part of it
    LEAST = "least"
    MOST = "most"


@frozen
class Column:
    """The declaration of one column of a table.

    Attributes:
        meaning: one line.
        unit: such as "ns" or "bytes"; "" for none.
        refers_to: the table whose rows the values are; None for none.
        optional: whether -1 means not recorded. An id of -1 always means none.
    """

    name: str
    dtype: np.dtype[Any]
    meaning: str
    unit: str
    refers_to: type[Table] | None
    combine: Combine
    optional: bool


def column(
    meaning: str,
    refers_to: type[Table] | None = None,
    *,
    unit: str = "",
    combine: Combine = Combine.NONE,
    optional: bool = False,
) -> Any:
    """Declares a column in the body of a table. The arguments are those of `Column`.

    Args:
        refers_to: `Itself` for the table being declared: ids are then of earlier rows of it.
        unit: only needed if the column's name does not end in it.
    """
    described = {"meaning": meaning, "unit": unit, "refers_to": refers_to}
    return field(metadata={**described, "combine": combine, "optional": optional})


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns the sorted distinct values. `np.unique` would import numpy.ma, a fifth of numpy."""
    ordered = np.sort(values, axis=None)
    is_first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def among(values: npt.NDArray[Any], members: npt.ArrayLike) -> Mask:
    """A mask of the values that are among these, like `np.isin`, but without numpy.ma."""
    known = distinct(np.asarray(members, values.dtype))
    if len(known) == 0:
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[place] == values)


@dataclass_transform(frozen_default=True, field_specifiers=(column,))
class Table:
    """Columns of equal length. Raises ValueError if a column has a wrong type or length.

    A subclass becomes a frozen dataclass that uses this class's methods: generated ones would take most of
    the time that a report needs to start. Its annotations must be `Int64`, `Int32`, `Int8`, `Mask` or `Text`,
    each declared with `column`. A table in recordings has its name there and, if the usual limit does not
    fit, the most rows of a valid file: `(Table, name="copies", most_rows=9)`.
    """

    described: ClassVar[Mapping[str, Column]] = {}
    dtypes: ClassVar[dict[str, np.dtype[Any]]] = {}
    table_name: ClassVar[str] = ""
    most_rows: ClassVar[int | None] = None

    def __init_subclass__(cls, name: str = "", most_rows: int | None = None) -> None:
        own = inspect.get_annotations(cls)
        cls.dtypes = {**cls.dtypes, **{key: _dtype(cls, key, kind) for key, kind in own.items()}}
        cls.described = _Described(cls, own, cls.described)
        cls.table_name, cls.most_rows = name, most_rows
        dataclass(init=False, repr=False, eq=False)(cls)

    def __init__(self, *columns: npt.NDArray[Any], **named: npt.NDArray[Any]) -> None:
        given = {**dict(zip(self.dtypes, columns, strict=False)), **named}
        if len(columns) + len(named) != len(self.dtypes) or given.keys() != self.dtypes.keys():
            raise TypeError(f"{type(self).__name__} has the columns {', '.join(self.dtypes)}")
        vars(self).update(given)
        self.__post_init__()

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to column {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete column {name!r}")

    def __post_init__(self) -> None:
        columns = vars(self)
        for name, column in columns.items():
            if not isinstance(column, np.ndarray) or column.dtype != self.dtypes[name] or column.ndim != 1:
                raise ValueError(f"{type(self).__name__}.{name}: not a column of {self.dtypes[name]}")
            if column.flags.writeable:  # a view, so that the caller's array stays as it is
                columns[name] = column.view()
                columns[name].flags.writeable = False
        if len({len(column) for column in columns.values()}) > 1:
            lengths = {name: len(column) for name, column in columns.items()}
            raise ValueError(f"{type(self).__name__}: columns differ in length: {lengths}")

    def __len__(self) -> int:
        return len(next(iter(vars(self).values())))

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Returns the columns by name, in order. A part of a table has only some."""
        own = vars(self)
        return {name: own[name] for name in self.dtypes if name in own}

    def take(self: SomeTable, rows: npt.NDArray[Any] | slice) -> SomeTable:
        """Returns the rows at these positions, or where this mask is true."""
        if isinstance(rows, np.ndarray) and rows.dtype == np.bool_ and len(rows) and bool(rows.all()):
            return self  # columns do not change, so no copy is needed
        return self.part({name: _taken(column, rows) for name, column in self.columns().items()})

    def compact(self: SomeTable) -> SomeTable:
        """Returns the same table; a column with the same value in all rows has it once in memory."""
        return self.part({name: compact(column) for name, column in self.columns().items()})

    @classmethod
    def part(cls: type[SomeTable], columns: Mapping[str, npt.NDArray[Any]]) -> SomeTable:
        """Returns the table with only these columns. Other columns raise AttributeError."""
        made = object.__new__(cls)
        vars(made).update(columns)
        made.__post_init__()
        return made

    @classmethod
    def concat(cls: type[SomeTable], tables: Sequence[SomeTable]) -> SomeTable:
        """Returns the rows of all tables, one after the other."""
        if not tables:
            return cls.empty()
        names = tables[0].columns()
        return cls.part({name: _joined([getattr(table, name) for table in tables]) for name in names})

    @classmethod
    def empty(cls: type[SomeTable]) -> SomeTable:
        """Returns the table without rows."""
        return cls(**{name: np.empty(0, dtype) for name, dtype in cls.dtypes.items()})

    @classmethod
    def references(cls) -> dict[str, type[Table]]:
        """Returns the columns whose values are rows of a table, with that table."""
        return {name: found.refers_to for name, found in cls.described.items() if found.refers_to is not None}

    @classmethod
    def combined(cls, *ways: Combine, optional: bool | None = None) -> tuple[str, ...]:
        """Returns the columns combined in these ways. optional: only optional ones, or only others."""
        return tuple(
            name
            for name, found in cls.described.items()
            if found.combine in ways and optional in (None, found.optional)
        )


def compact(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same column, which is not written any more; if all its values are equal, with one in memory."""
    if len(column) < 2 or column[0] != column[-1] or bool((column != column[0]).any()):
        return column
    return np.broadcast_to(column[0], len(column))


def _taken(column: npt.NDArray[Any], rows: npt.NDArray[Any] | slice) -> npt.NDArray[Any]:
    """Returns a column at these rows. One value in all rows stays one value in memory."""
    if column.strides != (0,) or len(column) == 0:
        return column[rows]
    if isinstance(rows, slice):
        taken = len(range(*rows.indices(len(column))))
    else:
        taken = int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else len(rows)
    return np.broadcast_to(column[0], taken)


def _joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Returns the columns one after the other. One value in all rows stays one value in memory.

    If only one column has rows, it is returned as it is: columns do not change.
    """
    filled = [part for part in parts if len(part)]
    if len(filled) == 1:
        return filled[0]
    if filled and all(part.strides == (0,) and part[0] == filled[0][0] for part in filled):
        return np.broadcast_to(filled[0][0], sum(map(len, filled)))
    return np.concatenate(parts)


class _Described(Mapping[str, Column]):
    """The declarations of a table's columns, made when first needed: most reports ask for few tables."""

    def __init__(self, table: type[Table], own: Iterable[str], inherited: Mapping[str, Column]) -> None:
        self._table, self._own, self._inherited = table, own, inherited

    @cached_property
    def _columns(self) -> dict[str, Column]:
        return {**self._inherited, **{name: _column(self._table, name) for name in self._own}}

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class Itself(Table):
    """Stands for the table being declared, if a column refers to it."""


def _dtype(table: type[Table], name: str, kind: object) -> np.dtype[Any]:
    """Returns the type of a column. Raises TypeError if the annotation is none."""
    if str(kind) not in _DTYPES:
        raise TypeError(f"{table.__name__}.{name}: no type of a column")
    return _DTYPES[str(kind)]


def _column(table: type[Table], name: str) -> Column:
    """Returns the declaration in the body of a table."""
    metadata = table.__dataclass_fields__[name].metadata  # type: ignore[attr-defined]
    described = metadata or {"meaning": ""}
    unit = described.get("unit") or next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")
    refers_to = described.get("refers_to")
    return Column(
        name=name,
        dtype=table.dtypes[name],
        meaning=described["meaning"],
        unit=unit,
        refers_to=table if refers_to is Itself else refers_to,
        combine=described.get("combine", Combine.NONE),
        optional=described.get("optional", False),
    )
