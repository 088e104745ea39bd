"""All rules, and the order of what they find."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.diagnose.lines import lines
from perfprobe.diagnose.operators import operators
from perfprobe.diagnose.short_operators import short_operators
from perfprobe.diagnose.threads import threads
from perfprobe.diagnose.unexplained import unexplained
from perfprobe.diagnose.waits import waits
from perfprobe.tables.account import Account
from perfprobe.tables.diagnoses import Cause, Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings

# Of causes that stand out, those of the first group come first: they are not the program's own work.
_RANKS = (
    (Cause.DATA, Cause.COLLECTION, Cause.COMPILE, Cause.IMPORT, Cause.THREADS),
    (Cause.SHORT_OPERATORS, Cause.LINE, Cause.MODULE, Cause.OPERATOR),
    (Cause.UNEXPLAINED,),
)
_ABOUT = 1.1
_RANK = {cause: rank for rank, causes in enumerate(_RANKS) for cause in causes}


def diagnosed(findings: Findings) -> Findings:
    """The findings with what the rules say about them; the same findings if no steps were found."""
    account = findings.get(Account)
    if account is None or account.own_ns <= 0:
        return findings
    found = sorted(_found(findings, account), key=_order)
    return findings.plus(Diagnoses(tuple(found), account.steps))


def _found(findings: Findings, account: Account) -> Iterator[Diagnosis]:
    yield from waits(account)
    yield from threads(findings, account)
    yield from short_operators(findings, account)
    yield from lines(findings, account)
    yield from operators(findings, account)
    yield from unexplained(account)


def _order(each: Diagnosis) -> tuple[bool, int, float]:
    """What stands out first, by rank; then the largest share.

    Short operators leave out what few steps do beyond the median. A line that has as much is one of theirs.
    """
    share = each.share * (_ABOUT if each.cause is Cause.SHORT_OPERATORS else 1)
    return not each.stands_out, _RANK[each.cause] if each.stands_out else 0, -share
