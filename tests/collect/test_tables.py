"""Written and read tables and columns are the same."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
import torch

import perfprobe
from perfprobe import native
from perfprobe.tables import storage
from perfprobe.tables.blocks import Block
from perfprobe.tables.columns import Table
from perfprobe.tables.definitions import IN_MEMORY, OF_THE_WHOLE, STREAMED
from perfprobe.tables.events import AutogradOperators, AutogradWindows, OperandReuse, Operators
from perfprobe.tables.gpu import KinetoLaunches

KINDS: tuple[type[Table], ...] = (*IN_MEMORY, *STREAMED, *OF_THE_WHOLE)
READ = {kind.table_name: set(kind.dtypes) for kind in KINDS}
# Written by collectors in Python, and memory, which only the autograd profiler reports.
IN_PYTHON: tuple[type[Table], ...] = (AutogradOperators, AutogradWindows, KinetoLaunches, OperandReuse)
MEMORY = {"allocated_bytes", "freed_bytes"}


def test_native_code_writes_the_declared_tables_and_columns() -> None:
    written = {table: set(columns) for table, columns in native.core().tables().items()}
    expected = {table: set(columns) for table, columns in READ.items()}
    expected[Operators.table_name] -= MEMORY
    for kind in IN_PYTHON:
        del expected[kind.table_name]
    assert written == expected


def work() -> None:
    model, row = torch.nn.Linear(3, 2), torch.ones(4, 3)
    for _ in range(20):
        model(row).sum().backward()
    with torch.profiler.record_function("named"):
        sum(range(1_000_000))
    with perfprobe.range("mine"):
        row.neg()


def columns_in(path: Path) -> dict[str, set[str]]:
    """The columns of each table in a file."""
    found: dict[str, set[str]] = defaultdict(set)
    with path.open("rb") as file:
        storage._check_head(file, str(path))
        for payload in storage._payloads(file):
            block = Block(payload)
            found[block.table] |= {column.name for column in block._columns}
    return dict(found)


@pytest.mark.parametrize(
    ("options", "tables"),
    [
        ({"operators": "both", "memory": True}, {"autograd_operators", "autograd_windows", "ranges"}),
        ({"operators": "autograd", "memory": True}, {"ranges"}),
        ({"detail": "bench"}, {"operand_reuse", "signature_values", "functions", "calls"}),
    ],
)
def test_a_recording_has_only_declared_tables_and_columns(
    tmp_path: Path, options: dict[str, object], tables: set[str]
) -> None:
    path = tmp_path / "run.perfprobe"
    with perfprobe.profile(path, **options):  # type: ignore[arg-type]
        work()
    found = columns_in(path)
    assert tables | {"operators", "strings", "threads", "meta", "progress", "end"} <= set(found)
    assert set(found) <= set(READ)
    for table, columns in found.items():
        assert columns <= READ[table], table
    for kind in (AutogradWindows, OperandReuse):
        assert found.get(kind.table_name, READ[kind.table_name]) == READ[kind.table_name]
