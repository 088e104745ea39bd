"""Rule: a large part of the time is not explained by what was recorded."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.diagnose.waits import of_group
from perfprobe.tables.account import Account, LeafKind
from perfprobe.tables.diagnoses import Cause, Diagnosis


def unexplained(account: Account) -> Iterator[Diagnosis]:
    """The time between operators in which nothing was seen."""
    found = account.of(LeafKind.UNEXPLAINED)
    if found is not None:
        yield of_group(account, found, Cause.UNEXPLAINED)
