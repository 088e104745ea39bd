"""Calls back when an import by the program has completed."""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident

from perfprobe.collect.held_signals import around, undisturbed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class ImportWatch:
    """A finder on `sys.meta_path` that finds nothing itself: it marks the spec that other finders return.

    The mark is an `exec_module` on that one loader object, which is removed before the callback. So module,
    spec and loader end up as without perfprobe. Asking for the spec without importing, failed and repeated
    imports, and reloads do no harm. An import that does not use this finder (if another is in front of it, or
    the loader accepts no mark) is noticed at the next import. A signal of the program waits for the callback.
    """

    def __init__(self, name: str, completed: Callable[[ModuleType], None]) -> None:
        self.name = name
        self._completed = completed
        self._lock = allocate_lock()
        self._fired = False
        self._searching: set[int] = set()

    def start(self) -> None:
        """Calls back at once if the module is imported already; otherwise waits for its import."""
        self._notice_missed()
        if not self._fired:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Stops waiting."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Implements the finder's part of the import protocol."""
        self._notice_missed()
        if fullname != self.name or get_ident() in self._searching:
            return None
        try:
            self._searching.add(get_ident())
            spec = _first_spec(self, fullname, path, target)
        finally:
            self._searching.discard(get_ident())
        if spec is not None and spec.loader is not None:
            self._mark(spec.loader)
        return spec

    def _mark(self, loader: object) -> None:
        run = getattr(loader, "exec_module", None)
        marks = getattr(getattr(run, "__after__", None), "marks", ())  # of other watches for the same module
        is_marked = "exec_module" in getattr(loader, "__dict__", {})
        if run is None or isinstance(loader, type) or self in marks or (is_marked and not marks):
            return

        def executed(succeeded: bool, _result: None, module: ModuleType) -> None:
            if succeeded and module.__name__ == self.name:  # the loader of a zip file serves many modules
                vars(loader).pop("exec_module", None)
                self._fire(module)

        executed.marks = (*marks, self)  # type: ignore[attr-defined]
        try:
            loader.exec_module = around(run, after=executed)  # type: ignore[attr-defined]
        except AttributeError:
            return

    def _notice_missed(self) -> None:
        module = sys.modules.get(self.name)
        if type(module) is type(sys):  # other types are lazy modules, which looking at them would load
            spec = vars(module).get("__spec__")
            if spec is not None and not getattr(spec, "_initializing", False):
                self._fire(module)

    @undisturbed
    def _fire(self, module: ModuleType) -> None:
        with self._lock:
            first, self._fired = not self._fired, True
        if first:
            self.stop()
            self._completed(module)


def _first_spec(
    skipped: object, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        find = None if finder is skipped else getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find(name, path, target) if find is not None else None
        if spec is not None:
            return spec
    return None
