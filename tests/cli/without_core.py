"""Runs perfprobe's commands where its C++ extension cannot be imported, as where it was not built.

    python -m tests.cli.without_core FOLDER [WORDS ...]

One command, in that folder, or all that standard input holds, see `each`.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path

from perfprobe.cli import main
from tests.collect.runs import Outcome, command


class Refusing:
    """An import hook that refuses it."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "perfprobe._core":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def each(text: str) -> list[Outcome]:
    """The outcomes of commands, a JSON list of (width of the terminal, words)."""
    made = []
    for columns, words in json.loads(text):
        os.environ["COLUMNS"] = columns
        made.append(command(words, Path.cwd()))
    return made


if __name__ == "__main__":
    sys.meta_path.insert(0, Refusing())
    os.chdir(sys.argv[1])
    status = 0
    if sys.argv[2:]:
        status = main(sys.argv[2:])
    else:
        sys.stdout.buffer.write(pickle.dumps(each(sys.stdin.read())))
    assert "perfprobe._core" not in sys.modules
    sys.exit(status)
