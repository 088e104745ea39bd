"""Every workload, compared with its table of truth: which line and module runs what, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from benchmarks.attribution import TRAINING
from benchmarks.truth.entries import ACCUMULATE, backward
from tests.workloads.recorded import ARGUMENTS, Recorded

Recordings = Callable[[str], Recorded]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_listed_operators_have_exactly_their_lines_modules_and_calls(name: str, recorded: Recordings) -> None:
    truth = recorded(name).truth
    assert truth.calls_found(recorded(name).rows) == truth.calls()


@pytest.mark.parametrize("name", TRAINING)
def test_every_autograd_node_has_the_line_and_module_of_its_forward_call(
    name: str, recorded: Recordings
) -> None:
    truth = recorded(name).truth
    assert truth.nodes_found(recorded(name).rows) == truth.nodes()


@pytest.mark.parametrize("name", TRAINING)
def test_every_backward_row_is_exact_or_has_a_reason(name: str, recorded: Recordings) -> None:
    truth = recorded(name).truth
    rest = [row for row in backward(recorded(name).rows) if not truth.is_exact(row)]
    strangers = [(row["operator"], truth.text_of(row), row["module"], row["reason"]) for row in rest]
    assert {reason for *_, reason in strangers} == {ACCUMULATE}, strangers
    assert all(row["line"] is None for row in rest)
    # The module holds the parameter, so it also ran forward.
    ran = modules(row for row in recorded(name).rows if row["phase"] == "forward")
    assert modules(rest) <= ran


def modules(rows: Iterable[Any]) -> set[str | None]:
    """All modules in which calls of these rows ran."""
    return {part["module"] for row in rows for part in row["modules"]}


@pytest.mark.parametrize("name", sorted(ARGUMENTS.keys() - set(TRAINING)))
def test_without_gradients_there_is_no_backward(name: str, recorded: Recordings) -> None:
    assert backward(recorded(name).rows) == []
