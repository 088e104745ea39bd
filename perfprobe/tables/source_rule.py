"""Which files a report may quote."""

from __future__ import annotations

import os

from perfprobe.tables.findings import ANY_SOURCE, SourceRule
from perfprobe.tables.recording import Recording


def source_rule(recording: Recording, source: str | None) -> SourceRule:
    """Returns which files a report on this recording may quote.

    An untrusted recording may name any file on the reader's machine, and the reader may send the report back.
    """
    if source is not None:
        return SourceRule(source, True, "" if source else "not shown: --no-source")
    name = recording.text("host", "name")
    if name != os.uname().nodename:
        whose = "recorded on another host" if name else "recorded on an unknown host"
    elif os.stat(recording.path).st_uid != os.geteuid():
        whose = "another user's recording"
    else:
        return ANY_SOURCE
    return SourceRule(os.getcwd(), False, f"not below this folder, and {whose}: --source DIR")
