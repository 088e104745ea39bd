"""Lists all tables that this package declares."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from pathlib import Path

from perfprobe.tables.columns import Table


@cache
def declared() -> tuple[type[Table], ...]:
    """Returns every table that a module of perfprobe.tables declares, in the order of the files."""
    found = []
    for path in sorted(Path(__file__).resolve().parent.glob("*.py")):
        module = importlib.import_module(f"perfprobe.tables.{path.stem}")
        for kind in vars(module).values():
            is_table = inspect.isclass(kind) and issubclass(kind, Table) and bool(kind.dtypes)
            if is_table and kind.__module__ == module.__name__:
                found.append(kind)
    return tuple(found)
