"""Runs git, so that it writes nothing into the repository it reads, and runs no hook."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from perfprobe.support.errors import EnvironmentLack, InputError
from perfprobe.support.text import printable

# No hooks, no daemon that is started, no clean-up in the background.
_QUIET = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
}
_KEPT = "GIT_CONFIG"  # variables that say where git's configuration is


def git(words: Sequence[str], folder: str, refused: str = "git failed") -> bytes:
    """What git prints.

    Args:
        folder: in which it runs.
        refused: what it means that git fails.

    Raises:
        InputError: git fails.
        EnvironmentLack: there is no git.
    """
    options = [word for name, value in _QUIET.items() for word in ("-c", f"{name}={value}")]
    try:
        done = subprocess.run(
            ["git", *options, *words],
            cwd=folder,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise EnvironmentLack(f"git cannot be started ({error.strerror})", "", "install git") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise InputError(
            refused, folder, printable(said[-1] if said else f"git ended with {done.returncode}")
        )
    return done.stdout


def clean_environment() -> dict[str, str]:
    """This process's environment without the repository that git's variables may name (in a hook they do)."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT)
    }
    # Without optional locks `git ls-files` and `git status` do not refresh the user's index.
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
