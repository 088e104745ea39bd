"""`perfprobe completion`: a script that lets the shell complete commands, options and files.

shtab makes it from the commands' own parsers, so that new options are always included. shtab does not support
a script in place of a command, and words after the script that belong to the script.
"""

from __future__ import annotations

import argparse
import importlib

from perfprobe.cli.options import Parser
from perfprobe.cli.report import write
from perfprobe.support import install
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

SHELLS = ("bash", "zsh", "fish")
# Endings of files that commands read. At least two: for a single one shtab's pattern fails in zsh.
_READ = ("*.perfprobe", "*.pstats", "*.json", "*.json.gz")

_DESCRIPTION = "Print a script that lets the shell complete commands, options and files."
_EXAMPLES = """\
examples:
  source <(perfprobe completion bash)      for this shell only
  perfprobe completion bash > \\
    ~/.local/share/bash-completion/completions/perfprobe
  perfprobe completion zsh > ~/.zfunc/_perfprobe       a folder in zsh's fpath
  perfprobe completion fish > ~/.config/fish/completions/perfprobe.fish
"""


def parser() -> Parser:
    """The options of `completion`."""
    parser = Parser("completion", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Make the script. The function that is returned prints it.

    Raises:
        EnvironmentLack: shtab is not installed, or too old for this shell.
    """
    shell = parser().parse_args(words).shell
    remedy = install.packages("--upgrade", "shtab")
    try:
        shtab: Any = importlib.import_module("shtab")
    except ImportError as error:
        raise EnvironmentLack("completion needs the package shtab", str(error), remedy) from error
    if shell not in shtab.SUPPORTED_SHELLS:
        raise EnvironmentLack(f"shtab {shtab.__version__} is too old", shell, remedy)
    text = script(shtab, shell)
    return lambda: write(text)


def script(shtab: Any, shell: str) -> str:
    """The completion script for one of `SHELLS`, as shtab makes it."""
    made: str = shtab.complete(_tree(shtab), shell)
    return made


def _tree(shtab: Any) -> argparse.ArgumentParser:
    """All commands under one parser, which also takes the options of `run`."""
    from perfprobe.cli import COMMANDS

    root = argparse.ArgumentParser("perfprobe", parents=[_with_files(shtab, "run")], add_help=False)
    commands = root.add_subparsers()
    for name, (_, summary) in COMMANDS.items():
        parser = commands.add_parser(name, help=summary, parents=[_with_files(shtab, name)], add_help=False)
        if name == "run":
            _completed(parser.add_argument("script", nargs="?", help="the program to run"), shtab.FILE)
            _completed(parser.add_argument("words", nargs="...", help="the program's own"), shtab.FILE)
    return root


def _with_files(shtab: Any, name: str) -> Parser:
    """A command's parser with completion of files: to be read, by their endings; to be written, any."""
    from perfprobe.cli import module

    made: Parser = module(name).parser()
    for action in made._actions:
        if action.metavar == "FILE":
            _completed(action, shtab.FILE if action.option_strings else shtab.glob(*_READ))
    return made


def _completed(action: argparse.Action, kind: object) -> None:
    action.complete = kind  # type: ignore[attr-defined]
