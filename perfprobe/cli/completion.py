"""`perfprobe completion`: a script that lets the shell complete commands, options and files.

Made by shtab from the commands' own parsers: a new option completes by itself. What shtab cannot know is that
`run` may be left out and that what follows the script belongs to the script; that is added for each shell.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from perfprobe.cli.options import PROGRAM_OPTIONS, Parser
from perfprobe.cli.report import write
from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

SHELLS = ("bash", "zsh", "fish")

_DESCRIPTION = "Print a script that lets the shell complete commands, options and files."
_EXAMPLES = """\
examples:
  source <(perfprobe completion bash)      for this shell only
  perfprobe completion bash > ~/.local/share/bash-completion/completions/perfprobe
  perfprobe completion zsh > ~/.zfunc/_perfprobe       a folder in zsh's fpath
  perfprobe completion fish > ~/.config/fish/completions/perfprobe.fish
"""

# The first plain word is a command, or a script; behind a script nothing is ours.
_BASH = """
_perfprobe() {
  local at=1 word="${COMP_WORDS[COMP_CWORD]}"
  case "${COMP_WORDS[1]}" in
    run) (( COMP_CWORD > 1 )) && at=2 ;;
    @others@) (( COMP_CWORD > 1 )) && { _shtab_perfprobe; return; } ;;
  esac
  while (( at < COMP_CWORD )); do
    case "${COMP_WORDS[at]}" in
      @valued@) [[ "${COMP_WORDS[at+1]}" == "=" ]] && (( at += 3 )) || (( at += 2 )) ;;
      -*) (( at += 1 )) ;;
      *) break ;;
    esac
  done
  if (( at < COMP_CWORD )); then
    COMPREPLY=()
    compopt -o default 2>/dev/null
  elif (( at > COMP_CWORD )) || [[ "$word" == -* ]]; then
    _shtab_perfprobe
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY=()
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
      (( at == 1 )) && compgen -W "@commands@" -- "${COMP_WORDS[COMP_CWORD]}"
      compgen -f -X '!*.py' -- "${COMP_WORDS[COMP_CWORD]}"
      compgen -d -- "${COMP_WORDS[COMP_CWORD]}")
  fi
  return 0
}
complete -F _perfprobe perfprobe
"""
_ZSH = """
functions[_perfprobe_commands]=$functions[_shtab_perfprobe]
_shtab_perfprobe() {
  local named=0
  case "$words[2]" in
    @all@) named=1 ;;
  esac
  if (( CURRENT == 2 )) && [[ "$PREFIX" != -* ]]; then
    _perfprobe_commands
  elif (( CURRENT > 2 && named )); then
    _perfprobe_commands
    return
  fi
  words=("$words[1]" run "${(@)words[2,-1]}")
  (( CURRENT += 1 ))
  _perfprobe_commands
}
"""
_FISH = """
complete -c perfprobe -n '_shtab_perfprobe_using; and test $_shtab_perfprobe_npos -eq 0' \
-k -a '(__fish_complete_suffix .py)'
complete -c perfprobe -n '_shtab_perfprobe_using; and test $_shtab_perfprobe_npos -ge 1' -F
complete -c perfprobe -n '_shtab_perfprobe_using run; and test $_shtab_perfprobe_npos -ge 1' -F
"""


def parser() -> Parser:
    """The options of `completion`."""
    parser = Parser("completion", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("shell", choices=SHELLS, help="the shell to make the script for")
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Make the script; the call that is returned prints it.

    Raises:
        EnvironmentLack: shtab is not installed, or too old for this shell.
    """
    shell = parser().parse_args(words).shell
    install = f"install it with `{sys.executable} -m pip install --upgrade shtab`"
    try:
        shtab: Any = importlib.import_module("shtab")
    except ImportError as error:
        raise EnvironmentLack("completion needs the package shtab", str(error), install) from error
    if shell not in shtab.SUPPORTED_SHELLS:
        raise EnvironmentLack(f"shtab {shtab.__version__} is too old", shell, install)
    text = script(shtab, shell)
    return lambda: write(text)


def script(shtab: Any, shell: str) -> str:
    """The completion script for one of `SHELLS`."""
    from perfprobe.cli import COMMANDS, module

    names = {
        "@all@": "|".join(COMMANDS),
        "@others@": "|".join(name for name in COMMANDS if name != "run"),
        "@commands@": " ".join(COMMANDS),
        "@valued@": "|".join(sorted(module("run").parser().valued() - set(PROGRAM_OPTIONS))),
    }
    added = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell]
    for name, text in names.items():
        added = added.replace(name, text)
    made: str = shtab.complete(_tree(shtab), shell, preamble={"zsh": added})
    return made + ("" if shell == "zsh" else added)


def _tree(shtab: Any) -> argparse.ArgumentParser:
    """All commands under one parser, which also takes the options of `run`."""
    from perfprobe.cli import COMMANDS

    root = argparse.ArgumentParser("perfprobe", parents=[_with_files(shtab, "run")], add_help=False)
    commands = root.add_subparsers()
    for name, (_, summary) in COMMANDS.items():
        parser = commands.add_parser(name, help=summary, parents=[_with_files(shtab, name)], add_help=False)
        if name == "run":
            _completed(
                parser.add_argument("script", nargs="?", help="the program to run"), _matching(shtab, "*.py")
            )
            _completed(parser.add_argument("words", nargs="...", help="the program's own"), shtab.FILE)
    return root


def _with_files(shtab: Any, name: str) -> Parser:
    """A command's parser whose files complete: recordings where it reads, any file where it writes."""
    from perfprobe.cli import module

    made: Parser = module(name).parser()
    for action in made._actions:
        if action.metavar == "FILE":
            _completed(action, shtab.FILE if action.option_strings else _matching(shtab, "*.perfprobe"))
    return made


def _matching(shtab: Any, pattern: str) -> dict[str, Any]:
    # shtab puts the pattern in brackets, which zsh takes for qualifiers when they hold no alternative.
    return {**shtab.glob(pattern), "zsh": f"_files -g '{pattern}'"}


def _completed(action: argparse.Action, kind: object) -> None:
    action.complete = kind  # type: ignore[attr-defined]
