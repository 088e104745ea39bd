"""The part of `perfprobe compare` that runs two programs, or two versions of one, in pairs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from perfprobe.cli.options import Parser, absolute, seconds
from perfprobe.cli.progress import Bar
from perfprobe.support.errors import EnvironmentLack, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from perfprobe.experiment.pairs import Asked, Pairs
    from perfprobe.experiment.variant import Variant

TIME_S = 1800.0
HEADING = "to run programs"
_ONLY_RUN = ("refs", "setup", "link", "time", "most_pairs", "keep", "record", "label")
_NAMES = ("A", "B")
_LONGEST_NAME = 40


def pairs_of(text: str) -> int:
    """A number of pairs, from 5 to 12."""
    import argparse

    from perfprobe.models.paired import FEWEST, MOST

    if not (text.isascii() and text.isdecimal() and FEWEST <= int(text) <= MOST):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {FEWEST} to {MOST}")
    return int(text)


def _fraction(text: str) -> float:
    import argparse

    try:
        found = float(text.rstrip("% "))
    except ValueError:
        found = 0.0
    if not 0 < found < 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of percent, such as 3")
    return found / 100


_OPTIONS: dict[str, dict[str, Any]] = {
    "--refs": {
        "metavar": "A,B",
        "help": "compare two versions of the program after --: branches, tags or commits of the git "
        "repository here, or WORK for the working tree as it is",
        "brief": "versions in git of the program after --, or WORK",
    },
    "--setup": {
        "metavar": "COMMAND",
        "help": "with --refs: run this in each version first, such as 'pip install -e .'",
        "brief": "with --refs: run this in each version first",
    },
    "--link": {
        "metavar": "DIR",
        "action": "append",
        "help": "with --refs: a folder that git ignores, such as data, that both versions see and only read",
        "brief": "with --refs: a folder such as data that both see",
    },
    "--limit": {
        "metavar": "PERCENT",
        "type": _fraction,
        "help": "a change of the step that matters (default: 3): pairs go on until it is excluded or certain",
        "brief": "a change of the step that matters (default: 3)",
    },
    "--time": {
        "metavar": "TIME",
        "type": seconds,
        "help": "begin no pair that would end after this time (default: 30m; 0 for no limit)",
        "brief": "begin no pair that would end after this time",
    },
    "--pairs": {
        "metavar": "N",
        "type": pairs_of,
        "dest": "most_pairs",
        "help": "run at most so many pairs, 5 to 12 (default: 12); it stops earlier if they are enough",
    },
    "--keep": {"metavar": "DIR", "help": "a new folder to keep the recordings in"},
    "--record": {
        "metavar": "FILE",
        "help": "append both versions to a history, for `perfprobe history`: .perfprobe/history.jsonl",
        "brief": "append both versions to a history",
    },
    "--label": {"metavar": "NAME", "help": "with --record: a name for the second version"},
}


def add_pair_options(parser: Parser) -> None:
    """The options of pairs."""
    for flag, named in _OPTIONS.items():
        parser.add(flag, heading=HEADING, **named)


def programs(words: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Options and files, and the programs after the first and the second `--`."""
    given = list(words)
    found: list[list[str]] = []
    at = given.index("--") if "--" in given else len(given)
    rest = given[at:]
    while rest and len(found) < len(_NAMES):
        rest = rest[1:]
        end = rest.index("--") if "--" in rest and len(found) + 1 < len(_NAMES) else len(rest)
        found.append(rest[:end])
        rest = rest[end:]
    return given[:at], found


def check(given: argparse.Namespace, given_programs: Sequence[Sequence[str]]) -> None:
    """Raises UsageError for options that do not belong together."""
    if not given_programs:
        for name in _ONLY_RUN:
            if getattr(given, name) is not None:
                flag = "--pairs" if name == "most_pairs" else f"--{name}"
                raise UsageError(
                    "this option is for programs that are run", flag, "write the program after --"
                )
        return
    if given.refs is None:
        _check_programs(given, given_programs)
    elif len(given_programs) != 1:
        raise UsageError("--refs compares versions of one program", "", "write one program after --")


def _check_programs(given: argparse.Namespace, given_programs: Sequence[Sequence[str]]) -> None:
    for name in ("setup", "link"):
        if getattr(given, name) is not None:
            raise UsageError("this option needs --refs", f"--{name}", "leave it out")
    if len(given_programs) != len(_NAMES):
        remedy = "write both: `-- a.py -- b.py`, or name versions: --refs main,HEAD"
        raise UsageError("there is only one program to compare", " ".join(given_programs[0][:1]), remedy)


def run_pairs(
    given: argparse.Namespace, given_programs: Sequence[Sequence[str]], show: Callable[[Pairs], int]
) -> int:
    """Runs the pairs and shows them; returns the exit code.

    show: prints, and returns an exit code; recordings are there until it returns.
    """
    from perfprobe.experiment.history import record
    from perfprobe.experiment.pairs import paired
    from perfprobe.experiment.private import exit_code_of, private_folder

    keep = None if given.keep is None else _new(given.keep)
    try:
        with private_folder() as folder, ExitStack() as checks:
            variants = _variants(given, given_programs, folder, checks)
            runs = os.path.join(folder, "runs")
            os.mkdir(runs)
            with Bar("running") as bar:
                found = paired(variants, _asked(given), runs, bar.show)
            status = show(found)
            if given.record is not None:
                record(found, given.record, given.label)
            if keep is not None:
                shutil.copytree(runs, keep)
        return found.exit_code or status
    except KeyboardInterrupt as interrupt:
        return exit_code_of(interrupt)


def limit_of(given: argparse.Namespace) -> float:
    """A change of the step that matters, as a fraction."""
    from perfprobe.models.paired import LIMIT

    return LIMIT if given.limit is None else float(given.limit)


def _asked(given: argparse.Namespace) -> Asked:
    from perfprobe.experiment.pairs import Asked
    from perfprobe.models.paired import MOST
    from perfprobe.tables.run_value import Measure

    return Asked(
        measure=Measure(given.measure),
        limit=limit_of(given),
        time_s=TIME_S if given.time is None else given.time or None,
        most=given.most_pairs or MOST,
    )


def _variants(
    given: argparse.Namespace, given_programs: Sequence[Sequence[str]], folder: str, checks: ExitStack
) -> tuple[Variant, Variant]:
    from perfprobe.experiment.variant import typed

    if given.refs is None:
        before, after = (typed(name, words) for name, words in zip(_NAMES, given_programs, strict=True))
        names = _names(before, after, given_programs)
        return replace(before, name=names[0]), replace(after, name=names[1])
    return _versions(given, given_programs[0], folder, checks)


def _names(before: Variant, after: Variant, given_programs: Sequence[Sequence[str]]) -> Sequence[str]:
    """The scripts, or what was typed if both are the same."""
    from perfprobe.support.masking.words import masked

    scripts = [variant.words[0] for variant in (before, after)]
    whole = [" ".join(masked(words))[:_LONGEST_NAME] for words in given_programs]
    for names in (scripts, whole):
        if names[0] != names[1] and not names[0].startswith("-"):
            return names
    return _NAMES


def _versions(
    given: argparse.Namespace, program: Sequence[str], folder: str, checks: ExitStack
) -> tuple[Variant, Variant]:
    from perfprobe.experiment import linked
    from perfprobe.experiment.checkout import repository
    from perfprobe.experiment.versions import version

    refs = given.refs.split(",")
    if len(refs) != len(_NAMES) or not all(refs):
        raise UsageError("two versions are compared", given.refs, "name them: --refs main,HEAD")
    source = repository(absolute(os.curdir))
    links = linked.checked(given.link or [], source.top, source.inside)
    before = linked.seen(links, source.top)
    made = [
        version(source, ref, program, os.path.join(folder, name), setup=given.setup, links=links)
        for ref, name in zip(refs, _NAMES, strict=True)
    ]
    checks.callback(lambda: linked.check_unchanged(before, linked.seen(links, source.top)))
    _tell_missing([path for each in made for path in each.missing])
    return made[0].variant, made[1].variant


def _tell_missing(paths: Sequence[str]) -> None:
    from perfprobe.collect.base import Stderr

    if paths:
        named = ", ".join(dict.fromkeys(paths))
        Stderr().tell(f"these submodules have no copy here, so their folders are empty: {named}")


def _new(path: str) -> str:
    """The absolute path of a folder to be made."""
    whole = absolute(path)
    if os.path.lexists(whole):
        raise UsageError("the folder to keep recordings in exists", path, "name a new one")
    if not Path(whole).parent.is_dir():
        raise EnvironmentLack("the folder around it does not exist", path, "make it first")
    return whole
