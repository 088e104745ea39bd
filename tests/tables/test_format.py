"""The list of what a recording contains, derived from the table classes."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np

import perfprobe.tables
from perfprobe.analyse.findings import SHOWN
from perfprobe.tables.columns import Combine, Table
from perfprobe.tables.definitions import IN_MEMORY, MOST_ROWS, OF_THE_WHOLE, STREAMED
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Sums

RECORDED: tuple[type[Table], ...] = (*IN_MEMORY, *STREAMED, *OF_THE_WHOLE)


def all_tables() -> Iterator[type[Table]]:
    """Every table defined in a module of perfprobe.tables."""
    for path in sorted(Path(perfprobe.tables.__path__[0]).glob("*.py")):
        for _, kind in inspect.getmembers(import_module(f"perfprobe.tables.{path.stem}"), inspect.isclass):
            if issubclass(kind, Table) and kind.dtypes:
                yield kind


def test_every_table_has_one_line_per_column() -> None:
    for kind in all_tables():
        assert kind.__doc__, kind
        assert "Table(" not in kind.__doc__, kind  # the default docstring of a dataclass
        for name, found in kind.described.items():
            assert found.meaning, f"{kind.__name__}.{name}"
            assert "\n" not in found.meaning
            assert not found.meaning.endswith("."), f"{kind.__name__}.{name}"


def test_a_recorded_table_has_a_unique_name_and_a_limit() -> None:
    assert len({kind.table_name for kind in RECORDED}) == len(RECORDED)
    for kind in RECORDED:
        assert kind.table_name.isidentifier(), kind
        assert kind.most_rows is None or kind.most_rows > MOST_ROWS
    others = set(all_tables()) - set(RECORDED) - set(SHOWN)
    assert not [kind for kind in others if kind.table_name]


def test_tables_that_recorded_tables_refer_to_are_recorded() -> None:
    for kind in RECORDED:
        for name, target in kind.references().items():
            assert target in IN_MEMORY, f"{kind.__name__}.{name}"
            assert kind.described[name].dtype == "int32", f"{kind.__name__}.{name}"


def line_of(kind: type[Table], name: str) -> str:
    """A column as on the page about the format."""
    found, limit = kind.described[name], kind.most_rows or MOST_ROWS
    refers_to = found.refers_to.table_name if found.refers_to else "-"
    facts = (kind.table_name, f"{limit:,}", name, found.dtype, found.unit or "-", refers_to, found.meaning)
    return " | ".join(map(str, facts))


def test_the_format_page_can_be_made_from_the_tables() -> None:
    lines = {line_of(kind, name) for kind in RECORDED for name in kind.dtypes}
    assert len(lines) == sum(len(kind.dtypes) for kind in RECORDED)
    assert lines > {
        "kernels | 67,108,864 | end_ns | int64 | ns | - | when it ended, -1 if not timed",
        "kernels | 67,108,864 | name | int32 | - | strings | its name, demangled",
        "kernels | 67,108,864 | launch | int32 | - | launches | how it was launched",
        "stacks | 2,097,152 | parent | int32 | - | stacks | the stack of the caller, -1 for the outermost",
        "copies | 67,108,864 | size_bytes | int64 | bytes | - | how much was copied or filled",
        "samples | 4,194,304 | look | int8 | - | - | a `Look`",
        "losses | 2,097,152 | reason | object | - | - | what is missing, and why",
        "end | 2,097,152 | time_ns | int64 | ns | - | when it was closed",
    }


def test_column_names_contain_units() -> None:
    for kind in all_tables():
        for name, found in kind.described.items():
            assert (found.unit == "ns") == name.endswith("_ns"), f"{kind.__name__}.{name}"
            assert found.unit != "ns" or kind.dtypes[name] == np.int64, f"{kind.__name__}.{name}"
            assert (found.unit == "bytes") == name.endswith("_bytes"), f"{kind.__name__}.{name}"


def test_every_measure_of_operators_is_summed() -> None:
    """A measure of operators that no row of the report sums would be lost silently."""
    measures = {
        n: (c.combine, c.optional) for n, c in LinkedOperators.described.items() if c.combine.value != "none"
    }
    summed = {n: (c.combine, c.optional) for n, c in Sums.described.items() if c.combine.value != "none"}
    own = {"calls": (Combine.SUM, False), "total_ns": (Combine.OUTERMOST, False)}
    assert summed == measures | own
