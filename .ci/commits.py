"""Checks the subjects of commits: at most 72 characters. The body says why.

    python .ci/commits.py [BASE]

Checks what is not in BASE: by default the upstream branch, and without one only the last commit. A merge may
have any subject. Exits with code 1 and names the commits if a subject is too long, or has more than one line.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MOST_LETTERS = 72


def main(words: Sequence[str], folder: Path = Path()) -> int:
    """Print what is wrong."""
    checked = f"{words[0]}..HEAD" if words else _own_commits(folder)
    if checked is None:
        return 0
    found = [line.split("\0") for line in _git(folder, "log", "--no-merges", "--format=%h%x00%s", checked)]
    long = [(commit, subject) for commit, subject in found if len(subject) > MOST_LETTERS]
    for commit, subject in long:
        print(
            f"{commit}: a subject of {len(subject)} letters, at most {MOST_LETTERS}: {subject}",
            file=sys.stderr,
        )
    return 1 if long else 0


def _own_commits(folder: Path) -> str | None:
    """What to check if nothing is named. None: this is no clone, but a source distribution."""
    if not _names(folder, "HEAD"):
        return None
    return "@{upstream}..HEAD" if _names(folder, "@{upstream}") else "HEAD^!"


def _names(folder: Path, revision: str) -> bool:
    words = ["git", "rev-parse", "--quiet", "--verify", revision]
    try:
        return subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _git(folder: Path, *words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
