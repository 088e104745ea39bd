"""The processes of a recorded program: the folder where children record themselves, and the sheet of sums.

The folder is beside the parent's recording. It holds `sums`, with a row for each child process (see
`tables.workers`), and the recordings of children that record themselves in detail. Both are made with the
first child. Children of children belong to the same family.
"""

from __future__ import annotations

import os
import sys
from os import getpid, mkdir
from time import monotonic_ns, process_time_ns

from perfprobe import native
from perfprobe.collect import loader_worker
from perfprobe.collect.base import fault
from perfprobe.collect.destination import SUFFIX, inserted
from perfprobe.collect.held_signals import undisturbed
from perfprobe.collect.imports import ImportWatch
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from perfprobe.collect.base import Facts
    from perfprobe.native import ChildSheet

SUMS = "sums"
FORKED, SPAWNED = 1, 2  # `StartMethod` of perfprobe/tables/workers.py
_MOST_NAMES = 1000
_LAST = -(10**9)  # after the finalizers of queues, so that what these send is recorded


class Family:
    """Makes the children of this process, and their children, record themselves.

    Args:
        settings: what a spawned child needs, see `session.record_child`. The family adds "children" (the
            folder, if there is one), "forked_ns" (when the child was spawned) and "parent".
        tell: prints a line that cannot wait for the report.
    """

    def __init__(self, settings: dict[str, Any], tell: Callable[[str], None]) -> None:
        self._settings = settings
        self._tell = tell
        self._process = getpid()
        # Not read from the kernel, because the parent may have ended by then.
        self.parent: int = settings.get("parent", 0)
        self.is_worker = False  # of a DataLoader
        self.facts: Facts | None = None  # of the recording of this process or its parent
        self._path = ""
        self._record: Callable[[str, int], Callable[[], None]] | None = None
        self._sheet: ChildSheet | None = None
        self._row = 0
        self._was_tried = False
        self._ends: list[Callable[[], None]] = []

    def attach(self, facts: Facts, path: str, record: Callable[[str, int], Callable[[], None]]) -> None:
        """Call this if this process has a recording.

        Args:
            path: the recording. The folder of children is made beside it, unless there is one already.
            record: called in a forked child with a path and the parent's PID; begins the child's recording
                and returns a function that ends it.
        """
        self.facts, self._path, self._record = facts, path, record
        if self._sheet is not None:  # of a child, whose recording is in the folder
            facts.extend("children", folder=".")

    @property
    def is_own(self) -> bool:
        """Whether this process is followed. A child of plain `os.fork` is not."""
        return self._process == getpid()

    def prepare(self) -> bool:
        """Makes folder and sheet at the first child; returns whether they exist."""
        facts = self.facts
        if self._sheet is None and not self._was_tried and facts is not None:
            self._was_tried = True
            facts.guarded("processes", lambda: self._try_to_make(facts))
        return self._sheet is not None

    def new_row(self) -> int | None:
        """Returns a row for the child being forked now. It could be killed before it takes a row itself."""
        if not self.prepare() or self._sheet is None:
            return None
        row: int = self._sheet.take()
        for cell, value in {"parent": getpid(), "method": FORKED, "forked_ns": monotonic_ns()}.items():
            self._sheet.set(row, cell, value)
        self._sheet.add(row, "processes", 1)
        return row

    def settings_now(self) -> dict[str, Any]:
        """Returns the settings of the child being spawned now."""
        return {**self._settings, "forked_ns": monotonic_ns(), "parent": getpid()}

    def enter_forked(self, row: int) -> None:
        """Joins the family in a forked child, before it runs anything of the program's.

        Args:
            row: from `new_row` in the parent.
        """
        self.parent, self._process, self._row, self._ends = self._process, getpid(), row, []
        try:
            self._enter_forked()
        except Exception as error:
            self._tell(f"child process {getpid()} is not recorded: {fault(error)}")

    def enter_spawned(self) -> None:
        """Joins the family in a spawned child, before all else. Raises OSError if the sheet is gone."""
        self._sheet = _sheet(os.path.join(self._settings["children"], SUMS), is_new=False)
        self._row = row = self._sheet.take()
        facts = {"parent": self.parent, "method": SPAWNED, "forked_ns": self._settings["forked_ns"]}
        for cell, value in facts.items():
            self._sheet.set(row, cell, value)
        self._sheet.add(row, "processes", 1)
        self._sheet.set(row, "process", getpid())
        ImportWatch("multiprocessing.context", self._describe_once_read).start()

    def path_of_detail(self) -> str | None:
        """Returns where this child records itself in detail; None if it only has sums."""
        if self._sheet is None or not self._sheet.take_detail():
            return None
        self._sheet.set(self._row, "detail", 1)
        return os.path.join(self._settings["children"], f"{getpid()}{SUFFIX}")

    def end_with(self, end: Callable[[], None]) -> None:
        """Adds a function to call at the child's end."""
        self._ends.append(end)

    def begin(self) -> None:
        """Call this when the child begins to run the program's part."""
        if self._sheet is not None:
            for cell in ("started_ns", "last_ns"):
                self._sheet.set(self._row, cell, monotonic_ns())

    @undisturbed
    def leave(self) -> None:
        """Call this at the child's end."""
        for end in self._ends:
            end()
        if self._sheet is not None:
            self._sheet.set(self._row, "last_ns", monotonic_ns())
            self._sheet.set(self._row, "cpu_ns", process_time_ns())
            self._sheet.add(self._row, "ended", 1)

    def _try_to_make(self, facts: Facts) -> None:
        try:
            self._make()
        except OSError as error:
            why = f"the folder for them cannot be made ({error.strerror})"
            reason = f"child processes are not recorded: {why}"
            facts.tell(f"{reason}: {printable(self._path)}")
            facts.loss(
                "processes", reason, 1, "free some space beside the recording, or name a file elsewhere"
            )

    def _make(self) -> None:
        folder = _new_folder(os.path.splitext(self._path)[0] + "-children")
        self._sheet = _sheet(os.path.join(folder, SUMS), is_new=True)
        self._settings["children"] = folder
        if self.facts is not None:
            self.facts.extend("children", folder=os.path.basename(folder))

    def _enter_forked(self) -> None:
        # Imported already: the second module calls this.
        process, util = (sys.modules[f"multiprocessing.{name}"] for name in ("process", "util"))
        if self._sheet is not None:
            self._sheet.set(self._row, "process", getpid())
        util.Finalize(None, self.leave, exitpriority=_LAST)
        self._describe(process.current_process())
        path = self.path_of_detail() if self._record is not None else None
        if path is not None and self._record is not None:
            self.end_with(self._record(path, self.parent))
        else:
            native.let_go_in_child()
        self.begin()

    def _describe(self, process: Any) -> None:
        if self._sheet is not None:
            self.is_worker = loader_worker.describe(self._sheet, self._row, process)

    def _describe_once_read(self, context: Any) -> None:
        """Describes a spawned child when `multiprocessing` has read its task.

        Args:
            context: the module `multiprocessing.context`.
        """
        kind: Any = getattr(context, "SpawnProcess", None)
        original = None if kind is None else vars(kind).get("_after_fork")
        if original is None:
            return

        @undisturbed
        def read() -> None:
            kind._after_fork = original
            try:
                self._describe(sys.modules["multiprocessing.process"].current_process())
            except Exception as error:
                self._tell(f"the parts of child process {getpid()} are not recorded: {fault(error)}")

        kind._after_fork = staticmethod(read)


def _sheet(path: str, *, is_new: bool) -> ChildSheet:
    sheet: ChildSheet = native.core().ChildSheet(os.fsencode(path), is_new)
    return sheet


def _new_folder(path: str) -> str:
    for number in range(1, _MOST_NAMES):
        candidate = path if number == 1 else inserted(path, str(number))
        try:
            mkdir(candidate)
        except FileExistsError:
            continue
        return candidate
    raise FileExistsError(f"{path} and 998 more exist already")
