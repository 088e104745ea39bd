"""Which files a report may quote."""

from __future__ import annotations

import os

from perfprobe.support import system
from perfprobe.tables.columns import distinct
from perfprobe.tables.findings import ANY_SOURCE, SourceRule
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings


def source_rule(recording: Recording, source: str | None) -> SourceRule:
    """Returns which files a report on this recording may quote.

    An untrusted recording may name any file on the reader's machine, and the reader may send the report back.
    """
    if source is not None:
        return SourceRule(source, True, "" if source else "not shown: --no-source")
    name = recording.text("host", "name")
    if name != system.host():
        whose = "recorded on another host" if name else "recorded on an unknown host"
    elif not system.is_own(recording.path):
        whose = "another user's recording"
    else:
        return ANY_SOURCE
    return SourceRule(os.getcwd(), False, f"not below this folder, and {whose}: --source DIR")


def allowed_files(recording: Recording, rule: SourceRule) -> list[str]:
    """Returns the absolute paths of the program's .py files that the rule allows. They need not exist."""
    if rule.folder == "":
        return []
    strings, base = recording[Strings], recording.text("program", "cwd") or os.sep
    names = (strings[file] for file in distinct(recording[Frames].file).tolist())
    files = [os.path.normpath(os.path.join(base, name)) for name in names if name.endswith(".py")]
    if rule.folder is None:
        return files
    folder = os.path.join(os.path.realpath(rule.folder), "")
    return [file for file in files if os.path.realpath(file).startswith(folder)]
