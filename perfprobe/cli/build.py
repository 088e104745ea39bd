"""`perfprobe build`: builds the operator observer ahead of the first recording."""

from __future__ import annotations

import sys

from perfprobe import native
from perfprobe.built import torch_there
from perfprobe.cli.options import Parser, absolute
from perfprobe.cli.report import write
from perfprobe.collect.base import Stderr
from perfprobe.support.errors import EnvironmentLack, InputError
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perfprobe.built.torch_there import TorchThere

_DESCRIPTION = """\
Build the operator observer for the installed torch. The first recording does
this automatically; use this command to do it in advance, or for another torch.
The observer is kept in ~/.cache/perfprobe/observer (see XDG_CACHE_HOME), one
for each torch, Python and compiler."""
_EXAMPLES = """\
examples:
  perfprobe build                          for the torch of this Python
  perfprobe build --again                  after a failure
  perfprobe build --torch venv/lib/python3.12/site-packages/torch

This needs g++ 11 or newer and the headers of this Python. Without the observer,
torch's own profiler records the operators, at many times the cost.
Exit code: 0 if the observer is built, 3 for a wrong folder, 4 if something is
missing here.
"""


def parser() -> Parser:
    """The options of `build`."""
    parser = Parser("build", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("--torch", metavar="DIR", help="folder of the torch to build it for")
    parser.add_argument(
        "--again", action="store_true", help="build even if it exists, or if an earlier build failed"
    )
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Build the observer. The function that is returned prints where it is."""
    given = parser().parse_args(words)
    from perfprobe.built.build import build

    torch = _torch(given.torch)
    if native.installed_for() == torch.version and not given.again:
        return lambda: write(f"The observer installed with perfprobe is for torch {torch.version}.\n") or 0
    built = build(torch, Stderr().tell, again=given.again, untried=given.torch is not None)
    how = "was there already" if built.seconds is None else f"was built in {round(built.seconds)} s"
    text = f"The operator observer for torch {torch.version} {how}: {printable(built.path)}\n"
    return lambda: write(text) or 0


def _torch(folder: str | None) -> TorchThere:
    if folder is not None:
        named = torch_there.at(absolute(folder))
        if named is None:
            raise InputError("this is not the folder of a torch package", folder, "it holds version.py")
        return named
    found = torch_there.find(sys.path)
    if found is None:
        where = "no torch is installed for this Python"
        raise EnvironmentLack("there is nothing to build", where, "name its folder with --torch")
    return found
