"""What of a recording a report shows, and how: checked words, nothing else."""

from __future__ import annotations

import re

from perfprobe.support.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SORTS = ("self", "total", "calls", "mean", "median", "p95", "gpu")
GROUPS = ("row", "op", "signature", "line", "module")
COLUMNS = ("short", "autograd", "all")


class View:
    """Which rows a report has, in which order and with which columns.

    Args:
        top: rows of each table; None for the report's own choice, 0 for all.
        sort: one of `SORTS`.
        group: what a row of the table of operators is, one of `GROUPS`.
        focus: a regular expression; only what matches is shown.
        columns: one of `COLUMNS`.
        source: the folder with the program's source lines; None for where they were, "" to print none.

    Raises:
        UsageError: a value of another type, one that does not exist or does not suit the group, a negative
            `top`, a `focus` that is no regular expression.
    """

    def __init__(
        self,
        top: int | None = None,
        sort: str = "self",
        group: str = "row",
        focus: str | None = None,
        columns: str = "short",
        source: str | None = None,
    ) -> None:
        _check("sort order", sort, SORTS)
        _check("grouping", group, GROUPS)
        _check("set of columns", columns, COLUMNS)
        if group in ("line", "module") and sort in ("mean", "median", "p95"):
            remedy = "sort by self, total, calls or gpu"
            raise UsageError(f"the calls of a {group} are of different operators: no {sort}", "", remedy)
        if top is not None and (not isinstance(top, int) or isinstance(top, bool)):
            raise UsageError(f"top is {top!r}", "", "give a whole number, 0 for all rows")
        if top is not None and top < 0:
            raise UsageError(f"a table cannot have {top} rows", "", "give a number from 0 (all rows) up")
        if focus is not None:
            if not isinstance(focus, str):
                raise UsageError(f"focus is {focus!r}", "", "give a regular expression as text")
            compiled(focus)
        self.top = top
        self.sort = sort
        self.group = group
        self.focus = focus
        self.columns = columns
        self.source = source


def compiled(focus: str) -> re.Pattern[str]:
    """The regular expression. Raises UsageError, with the place, where it is none."""
    try:
        return re.compile(focus)
    except (re.error, OverflowError, RecursionError) as error:
        remedy = "put a backslash before characters that are meant as they are"
        raise UsageError(f"no regular expression ({error})", focus, remedy) from error


def _check(what: str, value: str, known: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"there is no {what} {value!r}", "", f"choose from {', '.join(known)}")
