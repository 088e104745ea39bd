"""The folder in which perfprobe keeps results for later runs."""

from __future__ import annotations

import os

MOVE = "set XDG_CACHE_HOME to a folder that can be written"


def folder() -> str:
    """Returns `$XDG_CACHE_HOME/perfprobe`, or `~/.cache/perfprobe`. It need not exist."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):  # invalid by https://specifications.freedesktop.org/basedir-spec
        home = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "perfprobe")
