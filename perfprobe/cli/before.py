"""Before the program starts the observer is built for the torch that the program will import."""

from __future__ import annotations

import os
import sys

from perfprobe import native
from perfprobe.built import child, torch_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.collect.options import Options


def make_observer(options: Options, first_on_path: str | None, *, quiet: bool) -> None:
    """Build the observer where it is wanted and missing; what prevents it is reported later, with the torch.

    Args:
        first_on_path: what the program has first on sys.path.
        quiet: print nothing; another process of this run does.
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
