"""Versions of one program as variants: each in a copy of the repository and an environment of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence

from perfprobe.experiment.checkout import WORK, Repository, check_out
from perfprobe.experiment.linked import link
from perfprobe.experiment.side import set_up, side_environment
from perfprobe.experiment.variant import Variant, typed
from perfprobe.support.errors import InputError
from perfprobe.support.frozen import frozen

_TAKES_A_NAME = ("-m", "-c")


@frozen
class Version:
    """A version as a variant. missing: submodules that have no local copy."""

    variant: Variant
    missing: list[str]


def version(
    source: Repository,
    ref: str,
    words: Sequence[str],
    folder: str,
    *,
    setup: str | None,
    links: Sequence[str],
) -> Version:
    """Makes a version, ready to run.

    Args:
        words: the program and its arguments.
        folder: a new one, that the version may fill.
        setup: a command to run in it, such as `pip install -e .`.
        links: paths below the root that it sees through a link.

    Raises:
        PerfprobeError: it cannot be made.
        OSError: a file cannot be copied.
    """
    os.mkdir(folder)
    side = os.path.join(folder, os.path.basename(source.top))
    missing = check_out(source, ref, side)
    link(links, source.top, side)
    environment = side_environment(source.top, side, os.path.join(folder, "environment"))
    if setup is not None:
        set_up(setup, side, environment, ref)
    asked = typed(ref, words)
    inside = os.path.join(side, source.inside)
    if not os.path.isdir(inside):
        raise InputError(
            "the version has no such folder", f"{source.inside} in {ref}", "start in another one"
        )
    variant = Variant(
        name=ref,
        words=(_in_side(asked.words[0], source.top, side), *asked.words[1:]),
        variables={**environment.variables, **asked.variables},
        folder=inside,
        python=environment.python,
        commit="" if ref == WORK else source.commit(ref),
    )
    return Version(variant, missing)


def _in_side(script: str, top: str, side: str) -> str:
    """A script that was named by its absolute path is that of the version."""
    if script in _TAKES_A_NAME or not os.path.isabs(script):
        return script
    real = os.path.realpath(script)
    return side + real[len(top) :] if real.startswith(top + os.sep) else script
