"""The text that `perfprobe bench --emit` prints about the scripts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from perfprobe.bench.emit.folder import Folder, LeftOut, Written
from perfprobe.bench.emit.script import Candidate
from perfprobe.support import units
from perfprobe.support.text import printable

_LONGEST = 90  # characters of a signature


def summary(folder: Folder) -> str:
    """Returns the lines: scripts, calls without a script and why, and commands for the first script."""
    lines = [*_scripts(folder.scripts), *_left_out(folder.left_out), *_commands(folder)]
    return "".join(f"{printable(line)}\n" for line in lines)


def _scripts(scripts: Sequence[Written]) -> Iterator[str]:
    number = "1 script" if len(scripts) == 1 else f"{len(scripts)} scripts"
    yield f"{number}{_of_time([script.candidate for script in scripts])}"
    for script in scripts:
        yield f"  {_share(script.candidate)}{os.path.relpath(script.path)}  {_call(script.candidate)}"


def _left_out(left_out: Sequence[LeftOut]) -> Iterator[str]:
    if left_out:
        yield f"Without a script{_of_time([one.candidate for one in left_out])}"
    for one in left_out:
        yield f"  {_share(one.candidate)}{_call(one.candidate)}: {one.reason}"


def _commands(folder: Folder) -> Iterator[str]:
    if not folder.scripts:
        return
    yield f"To look at the first one, in that folder (for the others see {os.path.relpath(folder.readme)}):"
    yield f"  cd {os.path.relpath(folder.readme.parent)}"
    for command in folder.scripts[0].commands:
        yield f"  {command.line}"
        yield f"      {command.tool}: {command.answers}"


def _of_time(candidates: Sequence[Candidate]) -> str:
    shares = [candidate.share for candidate in candidates if candidate.share is not None]
    return f", {units.percent(sum(shares))} of operator time" if shares else ""


def _share(candidate: Candidate) -> str:
    return "" if candidate.share is None else f"{units.percent(candidate.share):>6}  "


def _call(candidate: Candidate) -> str:
    text = f"{candidate.wanted.operator} {candidate.wanted.signature}".rstrip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
