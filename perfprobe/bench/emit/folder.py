"""The folder that `perfprobe bench --emit` writes: scripts, and a README.md with command lines for each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from perfprobe.bench.emit.commands import ABOUT_NCU, ATTACH, Command, commands
from perfprobe.bench.emit.script import MARK, Candidate, Script, script
from perfprobe.bench.rebuild.recipe import CallRecipe
from perfprobe.support import files
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.text import printable
from perfprobe.support.units import ABSENT, percent

_README = "README.md"
_README_MARK = "<!-- Written by `perfprobe bench --emit`: it will be written again. -->"


class Written(NamedTuple):
    """A script on disk: its call, and the command lines for it."""

    path: Path
    candidate: Candidate
    commands: tuple[Command, ...]


class LeftOut(NamedTuple):
    """A call without a script, and why."""

    candidate: Candidate
    reason: str


class Folder(NamedTuple):
    """What was written. Each candidate is in `scripts` or `left_out`."""

    readme: Path
    scripts: tuple[Written, ...]
    left_out: tuple[LeftOut, ...]


def write_scripts(
    measurable: Sequence[Candidate | tuple[object, ...]], folder: str | os.PathLike[str]
) -> Folder:
    """Writes a script for every call that can be rebuilt, numbered in the order given, hottest first.

    Candidates may be plain tuples (wanted, recipe or reason, share, ...). Files that an earlier run wrote are
    overwritten; nothing else in the folder changes.

    Raises:
        UsageError: the folder is a file, or a file to be overwritten was not written by perfprobe.
        EnvironmentLack: the folder cannot be written to.
    """
    place = Path(folder)
    made, left_out = _made([Candidate(*each) for each in measurable])
    texts = {f"{one.stem}.py": one.source for _, one in made}
    texts[_README] = _readme([(one, candidate) for candidate, one in made], left_out)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name in texts:
            _check(place / name)
        for name, text in texts.items():
            files.write(str(place / name), text.encode())
    except FileExistsError as error:
        raise UsageError("scripts need a folder", f"{place} is a file") from error
    except OSError as error:
        raise EnvironmentLack("scripts cannot be written", f"{place}: {error.strerror}") from error
    scripts = tuple(
        Written(place / f"{one.stem}.py", each, commands(one.stem, one.device)) for each, one in made
    )
    return Folder(place / _README, scripts, tuple(left_out))


def _made(candidates: list[Candidate]) -> tuple[list[tuple[Candidate, Script]], list[LeftOut]]:
    made: list[tuple[Candidate, Script]] = []
    left_out = []
    for candidate in candidates:
        if not isinstance(candidate.recipe, CallRecipe):
            left_out.append(LeftOut(candidate, candidate.recipe))
            continue
        try:
            made.append((candidate, script(len(made) + 1, candidate, candidate.recipe)))
        except TypeError as error:
            left_out.append(LeftOut(candidate, f"not possible as source: {error}"))
    return made, left_out


def _check(path: Path) -> None:
    """Raises UsageError if another file has this path."""
    if not path.exists():
        return
    with path.open("rb") as file:
        first = file.readline(200).strip().decode(errors="replace")
    if first not in (MARK, _README_MARK):
        raise UsageError("no file was written", f"{path} was not written by perfprobe", "name another folder")


def _readme(made: list[tuple[Script, Candidate]], left_out: list[LeftOut]) -> str:
    lines = [_README_MARK, "# Hot operators, one script each", "", *_TOP]
    lines += ["| script | share | call |", "|---|---|---|"]
    lines += [
        f"| [{one.stem}.py]({one.stem}.py) | {_share(call)} | {_code(_call(call))} |" for one, call in made
    ]
    if left_out:
        lines += ["", "## Without a script", "", "| call | share | why |", "|---|---|---|"]
        lines += [
            f"| {_code(_call(one.candidate))} | {_share(one.candidate)} | {_code(one.reason)} |"
            for one in left_out
        ]
    lines += [
        "",
        "## Command lines",
        "",
        "Run them in this folder; each line's check shows the options it uses.",
        ATTACH,
    ]
    if any(one.device != "cpu" for one, _ in made):
        lines += ["", ABOUT_NCU]
    for one, _ in made:
        lines += ["", f"### {one.stem}", ""]
        for command in commands(one.stem, one.device):
            lines += [
                f"{command.tool}: {command.answers} (check: `{command.check}`)",
                "",
                f"    {command.line}",
                "",
            ]
    return "\n".join(lines).rstrip() + "\n"


_TOP = (
    "Each script stands alone (only torch is needed) and runs one call with the sizes, strides, types and",
    "threads that were recorded. `python SCRIPT --help` describes the call and all options.",
    "",
)


def _call(candidate: Candidate) -> str:
    return f"{candidate.wanted.operator} {candidate.wanted.signature}"


def _share(candidate: Candidate) -> str:
    return ABSENT if candidate.share is None else percent(candidate.share)


def _code(text: str) -> str:
    """Returns the text as code in a Markdown table. It cannot end the code, the cell or the line."""
    shown = printable(text).replace("`", "'").replace("|", "¦")
    return f"`{shown if len(shown) <= 200 else shown[:200] + '...'}`" if shown else ABSENT
