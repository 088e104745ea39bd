"""Frees the names of modules that only perfprobe has loaded and for which the program has a file.

Under plain python, `import json` finds a json.py beside the script. perfprobe goes on using the module that
it has loaded by that name, and the program imports its own as if perfprobe's did not exist.
"""

from __future__ import annotations

import sys
from importlib.machinery import BuiltinImporter, FrozenImporter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.machinery import ModuleSpec

_OURS = "perfprobe"
_RUNPY = "runpy"  # `python -m perfprobe` loads this first; `python -m` of a program loads it too
_RE = "re"  # a console script that pip wrote may import this before perfprobe


def loaded_for_us(*, by_runpy_too: bool) -> list[str]:
    """Returns the loaded modules, beginning with the first that plain python does not load when it starts.

    Args:
        by_runpy_too: whether to include the modules that `python -m` loaded.
    """
    names = list(sys.modules)
    launched_as_module = getattr(sys.modules["__main__"], "__spec__", None) is not None
    first = {_OURS} if launched_as_module else {_OURS, _RE}
    if by_runpy_too:
        first.add(_RUNPY)
    return names[min(names.index(name) for name in first if name in names) :]


def give_back(loaded: Iterable[str], place: str) -> None:
    """Removes modules from sys.modules that are found in `place`, the first entry of the program's path."""
    for top in {name.partition(".")[0] for name in loaded} - {_OURS, "__main__"}:
        if BuiltinImporter.find_spec(top) is None and FrozenImporter.find_spec(top) is None:
            found = find_in(place, top)
            if found is not None and found.loader is not None:
                _forget(top)


def find_in(place: str, name: str) -> ModuleSpec | None:
    """Returns the spec of a module in an entry of sys.path, without importing it; None if it has none."""
    find = getattr(importer(place), "find_spec", None)
    try:
        spec: ModuleSpec | None = None if find is None else find(name)
    except OSError:  # if the program imports from there, its own import says it
        return None
    return spec


def importer(path: str) -> object:
    """Returns the finder for an entry of sys.path; None if there is none."""
    for hook in sys.path_hooks:
        try:
            return hook(path)
        except (ImportError, OSError):  # OSError if the current folder was removed
            continue
    return None


def _forget(top: str) -> None:
    for name in [name for name in sys.modules if name == top or name.startswith(f"{top}.")]:
        del sys.modules[name]
