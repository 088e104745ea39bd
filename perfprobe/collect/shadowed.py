"""Frees the names of modules that only perfprobe has loaded and for which the program has a file.

Under plain python a json.py beside the script is what `import json` finds. The module that perfprobe has
loaded by that name stays in use by perfprobe, and the program's is imported as if ours were not there.
"""

from __future__ import annotations

import sys
from importlib.machinery import BuiltinImporter, FrozenImporter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.machinery import ModuleSpec

_OURS = "perfprobe"
_RUNPY = "runpy"  # what `python -m perfprobe` loads first; `python -m` of a program loads it as well
_RE = "re"  # what a console script that pip wrote may import before us


def loaded_for_us(*, by_runpy_too: bool) -> list[str]:
    """The modules that are loaded, from the first on that plain python does not load when it starts.

    by_runpy_too: whether those of `python -m` are not the program's either.
    """
    names = list(sys.modules)
    launched_as_module = getattr(sys.modules["__main__"], "__spec__", None) is not None
    first = {_OURS} if launched_as_module else {_OURS, _RE}
    if by_runpy_too:
        first.add(_RUNPY)
    return names[min(names.index(name) for name in first if name in names) :]


def give_back(loaded: Iterable[str], place: str) -> None:
    """Forget those of these modules that are found in `place`: what comes first on the program's path."""
    for top in {name.partition(".")[0] for name in loaded} - {_OURS, "__main__"}:
        if BuiltinImporter.find_spec(top) is None and FrozenImporter.find_spec(top) is None:
            found = find_in(place, top)
            if found is not None and found.loader is not None:
                _forget(top)


def find_in(place: str, name: str) -> ModuleSpec | None:
    """What an entry of sys.path has by the name of a module; it is not imported."""
    find = getattr(importer(place), "find_spec", None)
    spec: ModuleSpec | None = None if find is None else find(name)
    return spec


def importer(path: str) -> object:
    """What imports from an entry of sys.path; None where nothing does."""
    for hook in sys.path_hooks:
        try:
            return hook(path)
        except (ImportError, OSError):  # the latter of the current folder, when it was removed
            continue
    return None


def _forget(top: str) -> None:
    for name in [name for name in sys.modules if name == top or name.startswith(f"{top}.")]:
        del sys.modules[name]
