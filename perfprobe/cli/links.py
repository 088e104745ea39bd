"""`file:line` as a link on terminals that have them (OSC 8), so that a click opens the file."""

from __future__ import annotations

import os
import re

from perfprobe.cli.terminal import is_screen
from perfprobe.support import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from perfprobe.results import Results
    from perfprobe.support.view import View

_PLACE = re.compile(r"(?<![\w./-])((?:[\w.-]+/)*[\w.-]+\.py):(\d+)\b")
_LINK = "\x1b]8;;{}\x1b\\{}\x1b]8;;\x1b\\"


def links_of(results: Results, view: View, color: str) -> Callable[[str], str]:
    """What to do with a report on these results when it is printed: on a terminal links, else nothing.

    view: its `source` says which files may be named. color: the value of `--color`; with never also nothing.
    """
    if not is_screen() or color == "never":
        return str
    from perfprobe.tables.source_rule import allowed_files

    found = results.findings(view, ())
    files = allowed_files(found.trace.recording, found.source_rule)
    return lambda text: linked(text, files, system.host())


def linked(text: str, files: Iterable[str], host: str = "") -> str:
    """The text with each `file.py:12` as a link, if it means one of these files, and no other.

    Args:
        files: absolute paths. A text may have only the end of one. Those that do not exist get no link.
        host: name of this machine, as terminals over ssh compare it.
    """
    from urllib.parse import quote  # a fiftieth of a second

    by_name: dict[str, list[str]] = {}
    for file in files:
        by_name.setdefault(os.path.basename(file), []).append(file)

    def link(found: re.Match[str]) -> str:
        name, line = found.groups()
        known = by_name.get(os.path.basename(name), [])
        meant = [file for file in known if file == name or file.endswith(f"/{name}")]
        if len(meant) != 1 or not os.path.isfile(meant[0]):
            return found[0]
        return _LINK.format(f"file://{host}{quote(meant[0])}#{line}", found[0])

    return _PLACE.sub(link, text)
