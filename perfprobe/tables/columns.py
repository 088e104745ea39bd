"""The base of every table: equally long, read-only numpy columns, their types read from the annotations."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Int64: TypeAlias = npt.NDArray[np.int64]
Int32: TypeAlias = npt.NDArray[np.int32]
Int8: TypeAlias = npt.NDArray[np.int8]
Text: TypeAlias = npt.NDArray[np.object_]
Mask: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = npt.NDArray[np.intp]

TEXT = np.dtype(np.object_)

_KINDS: tuple[tuple[str, object, np.dtype[Any]], ...] = (
    ("Int64", Int64, np.dtype(np.int64)),
    ("Int32", Int32, np.dtype(np.int32)),
    ("Int8", Int8, np.dtype(np.int8)),
    ("Mask", Mask, np.dtype(np.bool_)),
    ("Text", Text, TEXT),
)
# An annotation is the name of the type where its file postpones annotations, else the type itself.
_DTYPES = {str(key): dtype for name, kind, dtype in _KINDS for key in (name, kind)}

SomeTable = TypeVar("SomeTable", bound="Table")


@dataclass(frozen=True)
class Table:
    """Columns of equal length; a row is an index. Raises ValueError when a column has a wrong type or length.

    A subclass is a frozen dataclass whose annotations are `Int64`, `Int32`, `Int8`, `Mask` or `Text` and
    nothing else.
    """

    dtypes: ClassVar[dict[str, np.dtype[Any]]] = {}

    def __init_subclass__(cls) -> None:
        own = inspect.get_annotations(cls)
        cls.dtypes = {**cls.dtypes, **{name: _DTYPES[str(kind)] for name, kind in own.items()}}

    def __post_init__(self) -> None:
        lengths = {name: self._freeze(name, dtype) for name, dtype in self.dtypes.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"{type(self).__name__}: columns differ in length: {lengths}")

    def _freeze(self, name: str, dtype: np.dtype[Any]) -> int:
        column = getattr(self, name)
        if not isinstance(column, np.ndarray) or column.dtype != dtype or column.ndim != 1:
            raise ValueError(f"{type(self).__name__}.{name}: not a column of {dtype}")
        view = column.view()
        view.setflags(write=False)
        object.__setattr__(self, name, view)
        return len(view)

    def __len__(self) -> int:
        return len(getattr(self, next(iter(self.dtypes))))

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns by name, in their order."""
        return {name: getattr(self, name) for name in self.dtypes}

    def take(self: SomeTable, rows: npt.NDArray[Any] | slice) -> SomeTable:
        """The rows at these positions (or where this mask is true), as a new table."""
        return type(self)(**{name: column[rows] for name, column in self.columns().items()})

    @classmethod
    def concat(cls: type[SomeTable], tables: Sequence[SomeTable]) -> SomeTable:
        """The rows of all tables, one after the other."""
        if not tables:
            return cls.empty()
        return cls(**{name: np.concatenate([getattr(t, name) for t in tables]) for name in cls.dtypes})

    @classmethod
    def empty(cls: type[SomeTable]) -> SomeTable:
        """The table with no rows."""
        return cls(**{name: np.empty(0, dtype) for name, dtype in cls.dtypes.items()})
