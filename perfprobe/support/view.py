"""The options of a report, checked: what it shows, and how."""

from __future__ import annotations

import re

from perfprobe.support.errors import UsageError
from perfprobe.support.option import COMMAND_LINE, JSON, PYTHON, Chosen, declared, option
from perfprobe.support.views import PEER_SORTS, PEER_VIEWS, SECTION_VIEWS, VIEWS, needed_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SORTS = ("self", "total", "calls", "mean", "median", "p95", "gpu")
PEER_ONLY_SORTS = ("max", "min", "gpu-total", "gpu-mean", "gpu-max", "gpu-min")  # rows of Paddle's tables
GROUPS = ("row", "op", "signature", "line", "module")
COLUMNS = ("short", "autograd", "all")
_OF_ALL = tuple(view for view in PEER_VIEWS if view not in ("tb.operator", "tb.module"))
_ROWS, _READING = "rows of tables", "what to read"  # headings of `--help`
_OF_TABLES = ("top", "sort", "group", "focus", "columns", "package")


class View(Chosen):
    """The rows of a report, their order and their columns.

    Raises:
        UsageError: a value has the wrong type, is not allowed or does not suit the group, `top` is negative,
            or `focus` is not a regular expression.
    """

    places = (COMMAND_LINE, PYTHON)
    heading = "what to print"

    full: bool = option(
        False,
        "print all sections, not only the first screen (options for tables do so too)",
        brief="print all sections, not only the first screen",
    )
    view: str | None = option(
        None,
        f"print one section: {', '.join(SECTION_VIEWS)}; or a table in the form of Paddle's profiler or the "
        f"TensorBoard plugin: {', '.join(PEER_VIEWS)}",
        values=VIEWS,
        called="view",
        brief="print one section: operators, lines, modules, steps...",
    )
    brief: bool = option(
        False,
        "print 40 lines of Markdown, for a chat or a ticket; with --json at most 40 KB, for a coding agent",
        brief="print 40 lines of Markdown, for a chat or a ticket",
    )
    # None leaves it to the report.
    top: int | None = option(
        None,
        "number of rows to show, 0 for all",
        kind="rows",
        heading=_ROWS,
        brief=None,
    )
    sort: str = option(
        "self",
        "order of the rows (default: %(default)s); gpu is self time on GPUs. Lines and modules can be sorted "
        "by self, total, calls and gpu. The keys of torch (cpu_time_total) and Paddle (CPUMax) work too",
        values=SORTS,
        called="sort order",
        aliases=PEER_SORTS,
        heading=_ROWS,
        brief="order of the rows: self, total, calls, mean, gpu...",
    )
    group: str = option(
        "row",
        "what a row stands for (default: operator, signature, line and phase)",
        values=GROUPS,
        called="grouping",
        heading=_ROWS,
        brief="a row for each: op, signature, line or module",
        places=(COMMAND_LINE, PYTHON, JSON),
    )
    focus: str | None = option(
        None,
        "only rows in which operator, signature, line, module or phase matches",
        kind="pattern",
        heading=_ROWS,
        brief="only rows in which operator, line or module matches",
        places=(COMMAND_LINE, PYTHON, JSON),
    )
    columns: str = option(
        "short",
        "autograd: the columns of torch's own table; all: every column",
        values=COLUMNS,
        called="set of columns",
        heading=_ROWS,
        brief="autograd: the columns of torch's table; or all",
    )
    package: str | None = option(
        None,
        "always show modules, and hot lines within these installed packages (comma-separated; default: the "
        "packages that define the model's classes, shown if one line calls most of the time)",
        kind="names",
        heading=_ROWS,
    )
    largest: int = option(
        8 << 30,
        "largest size of a trace, after it was expanded (default: 8G)",
        kind="size",
        heading=_READING,
        places=(COMMAND_LINE,),
    )
    # "" prints no source lines.
    source: str | None = option(
        None,
        "folder with the program's source files (default: their recorded place; for recordings of other "
        "users or hosts only below the current folder)",
        kind="folder",
        heading=_READING,
        without=("--no-source", "", "print no source lines"),
        places=(COMMAND_LINE,),
    )

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        if self.group in ("line", "module") and self.sort in ("mean", "median", "p95"):
            what = f"a {self.group} has no {self.sort}: its calls are of different operators"
            raise UsageError(what, "", "sort by self, total, calls or gpu")
        if self.sort in PEER_ONLY_SORTS and self.sort != "gpu-total" and self.view not in PEER_VIEWS:
            what = f"these rows have no column {self.sort}"
            raise UsageError(what, "", "use it with --view paddle.operator, or sort by mean or gpu")
        if self.focus is not None and self.view in _OF_ALL:
            what = f"{self.view} covers all operators and takes no focus"
            raise UsageError(what, "", "leave out --focus, or take --view operators or tb.operator")
        _check_top(self.top)
        if self.focus is not None:
            if not isinstance(self.focus, str):
                raise UsageError(f"focus is {self.focus!r}", "", "give a regular expression as text")
            compiled(self.focus)
        if self.package is not None and not isinstance(self.package, str):
            raise UsageError(f"package is {self.package!r}", "", "give names as text, with commas between")

    @property
    def is_together(self) -> bool:
        """Whether it shows several recordings together."""
        return self.view is not None and needed_for(self.view).together

    @property
    def is_screen(self) -> bool:
        """Whether to show the first screen, because no option about tables was given."""
        asks = any(getattr(self, one.name) != one.default for one in declared(View) if one.name in _OF_TABLES)
        return not (self.full or self.view or asks)


def compiled(focus: str) -> re.Pattern[str]:
    """Compiles the regular expression. Raises UsageError if it is not valid."""
    try:
        return re.compile(focus)
    except (re.error, OverflowError, RecursionError) as error:
        remedy = "escape special characters with a backslash"
        raise UsageError(f"not a regular expression ({error})", focus, remedy) from error


def _check_top(top: int | None) -> None:
    if top is not None and (not isinstance(top, int) or isinstance(top, bool)):
        raise UsageError(f"top is {top!r}", "", "give a whole number, 0 for all rows")
    if top is not None and top < 0:
        raise UsageError(f"a table cannot have {top} rows", "", "give a number from 0 (all rows) up")
