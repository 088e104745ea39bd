"""The numbers of a notebook's cells, whose files have names that say nothing to their author."""

from __future__ import annotations

import sys

from perfprobe.collect.base import Collector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.collect.base import Facts


class CellCollector(Collector):
    """Writes the numbers by file name when it is stopped, if the program is IPython or its kernel."""

    name = "cells"

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def start(self) -> None:
        """Nothing is needed before the cells have run."""

    def stop(self) -> None:
        """Writes the meta value `cells`.

        IPython keeps the numbers for its own tracebacks (IPython/core/compilerop.py, `CachingCompiler`, from
        8.0 on). Names of older versions have the number in them.
        """
        get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
        shell = None if get_shell is None else get_shell()
        numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
        if isinstance(numbers, dict) and numbers:
            known = {str(name): number for name, number in numbers.items() if type(number) is int}
            self._facts.meta("cells", known)
