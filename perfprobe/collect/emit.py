"""Sends operators, phases and steps as ranges to another tool: finds the tool and the lines to name."""

from __future__ import annotations

import os

from perfprobe import native
from perfprobe.collect.outside import ITT_COLLECTOR, nsight
from perfprobe.support import install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.collect.base import Facts

# A command that starts a tool that listens.
_COMMANDS = {
    "nvtx": "nsys profile -t cuda,nvtx python -m perfprobe --emit nvtx script.py",
    "itt": "vtune -collect hotspots -knob enable-user-tasks=true -- python -m perfprobe --emit itt script.py",
}
_LIBRARIES = ("torch", "inductor", "perfprobe", "site", "stdlib")


def listener(facts: Facts, kind: str | None) -> object | None:
    """Returns where ranges of this kind ("nvtx", "itt") go; None, with a message, if no tool listens."""
    if kind is None:
        _say_what_could_be_emitted(facts)
        return None
    core: Any = native.core()
    missing = core.nvtx_missing() if kind == "nvtx" else core.itt_missing()
    if missing is None:
        facts.extend("emit", kind=kind, domain="perfprobe")
        port: object = core.emission_port(kind)
        return port
    is_built = native.why_not_built(kind) is None
    remedy = f"run under a tool that listens, as in `{_COMMANDS[kind]}`" if is_built else install.rebuild()
    facts.tell(f"no ranges are emitted: {missing}; {remedy}")
    facts.loss("emit", f"no ranges were emitted: {missing}", 1, remedy)
    return None


def say_if_full(facts: Facts, observer: Any) -> None:
    """Writes a loss if messages were left out: tools keep every message, so their number is limited."""
    if observer.messages_full():
        reason = "messages of emitted ranges beyond 16,384: operators are named without signature and line"
        facts.loss("emit", reason, 1, "emit from a shorter part of the program")


def _say_what_could_be_emitted(facts: Facts) -> None:
    # A run without --emit, under a tool that would show the ranges.
    tool, kind = nsight(), "nvtx"
    # A child that is recorded too inherits our own library here.
    if tool is None and os.environ.get(ITT_COLLECTOR) not in (None, "", native.injection()):
        tool, kind = "an ITT collector (VTune)", "itt"
    if tool is not None:
        facts.tell(f"{tool} is listening: --emit {kind} would send it operators, with their lines, as ranges")


def folders(roots: dict[str, object]) -> list[tuple[str, bool]]:
    """Returns the folders in the meta value `roots`, each with whether it has the user's code.

    `merge.user_lines`, which decides this for the report, has the same rule.
    """
    found = [(path, False) for key in _LIBRARIES for path in _paths(roots.get(key))]
    # A program that is part of torch (torch.distributed.run) does not make torch's files the user's.
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
