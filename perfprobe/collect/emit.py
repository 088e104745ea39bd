"""Operators, phases and steps as ranges for another tool: where they go, and whose lines they name."""

from __future__ import annotations

import os

from perfprobe import native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.collect.base import Facts

_LISTENERS = {
    "nvtx": "nsys profile -t cuda,nvtx python -m perfprobe --emit nvtx script.py",
    "itt": "vtune -collect hotspots -knob enable-user-tasks=true -- python -m perfprobe --emit itt script.py",
}
_LIBRARIES = ("torch", "inductor", "perfprobe", "site", "stdlib")


def listener(facts: Facts, kind: str | None) -> object | None:
    """Where ranges of this kind ("nvtx", "itt") go; None, said in one line, where nothing listens."""
    if kind is None:
        return None
    core = native.core()
    lack = core.emission_lack(kind)
    if lack is None:
        facts.extend("emit", kind=kind, domain="perfprobe")
        return core.emission_port(kind)
    remedy = f"run under a tool that does, as in `{_LISTENERS[kind]}`"
    facts.tell(f"no ranges are emitted: {lack}; {remedy}")
    facts.loss("emit", f"no ranges were emitted: {lack}", 1, remedy)
    return None


def folders(roots: dict[str, object]) -> list[tuple[str, bool]]:
    """The folders of the meta value `roots`, each with whether what lies in it is the user's code.

    As `merge.source` has it, which decides it for the report.
    """
    found = [(path, False) for key in _LIBRARIES for path in _paths(roots.get(key))]
    # A program that is part of torch (torch.distributed.run) makes nothing there the user's.
    never = _paths(roots.get("torch")) + _paths(roots.get("perfprobe"))
    for path in _paths(roots.get("script")):
        folder = os.path.dirname(path) if path.endswith(".py") else path
        around = [library for library, _ in found if f"{folder}/".startswith(f"{library}/")]
        if max(around, key=len, default="") not in never:
            found.append((folder, True))
    return found


def _paths(given: object) -> list[str]:
    paths = given if isinstance(given, list) else [given]
    return [os.path.abspath(path) for path in paths if isinstance(path, str) and path]
