"""Builds the observer before the program starts, for the torch that the program will import."""

from __future__ import annotations

import os
import sys

from perfprobe import native
from perfprobe.built import child, torch_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.collect.options import Options


def make_observer(options: Options, first_on_path: str | None, *, quiet: bool) -> None:
    """Build the observer if it is needed and missing. A failure is reported later, when torch is imported.

    Args:
        first_on_path: the first entry of the program's sys.path.
        quiet: print nothing, because another process of this run does.
    """
    if options.operators in ("off", "autograd") and not options.benchmark:
        return
    torch = torch_there.find([*([] if first_on_path is None else [first_on_path]), *sys.path])
    if torch is None or native.has_observer(torch):
        return
    if os.environ.get("PERFPROBE_BUILD") == "off":
        native.observer_not_built(torch, "PERFPROBE_BUILD=off", "build it with `perfprobe build`")
        return
    missing = child.build(torch, quiet=quiet)
    if missing is not None:
        native.observer_not_built(torch, *missing)
