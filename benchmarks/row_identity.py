"""How often `perfprobe compare` finds a line in a later commit: python -m benchmarks.row_identity REPOSITORY.

Truth is git's own map of unchanged lines. Each pair of commits is some commits apart; of files that differ
all lines count that may call something. A line is right if it is paired with the one that git has, wrong if
with another one. Lines that git calls changed have no truth. No source is kept: only figures are printed.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perfprobe.analyse.comparing.identity import paired_parts
from perfprobe.models.compared import Match, Part
from perfprobe.tables.account import LeafKind
from perfprobe.tables.steps import StepPhase

_FILES = 12  # of a pair of commits
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


class _Function(NamedTuple):
    name: str
    first_line: int


def main(words: Sequence[str] | None = None) -> None:
    """Measure the repositories that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("repositories", nargs="+", metavar="REPOSITORY")
    parser.add_argument("--pairs", type=int, default=34, help="pairs of commits of each")
    parser.add_argument("--apart", type=int, default=5, help="commits between the two of a pair")
    given = parser.parse_args(words)
    whole: Counter[str] = Counter()
    for repository in given.repositories:
        counts = _measured(repository, given.pairs, given.apart)
        print(f"{repository}: {_said(counts)}", flush=True)
        whole += counts
    print(f"all: {_said(whole)}")


def _said(counts: Counter[str]) -> str:
    kept = max(counts["kept"], 1)
    names = ("right", "wrong", "not found", "same number")
    shares = ", ".join(f"{name} {100 * counts[name] / kept:.2f} %" for name in names)
    lines = f"{counts['kept']:,} lines kept, {counts['changed']:,} changed"
    return f"{counts['pairs']} pairs, {lines}; {shares}"


def _measured(repository: str, pairs: int, apart: int) -> Counter[str]:
    commits = _git(repository, "rev-list", "--first-parent", "HEAD").split()
    counts: Counter[str] = Counter()
    for number in range(pairs):
        at = 1 + number * max(1, (len(commits) - apart - 2) // pairs)
        if at + apart >= len(commits):
            break
        counts["pairs"] += 1
        new, old = commits[at], commits[at + apart]
        changed = _git(
            repository, "diff", "--name-only", "--diff-filter=M", old, new, "--", "*.py"
        ).splitlines()
        for file in changed[:_FILES]:
            counts += _of_file(repository, old, new, file)
    return counts


def _of_file(repository: str, old: str, new: str, file: str) -> Counter[str]:
    texts = [_git(repository, "show", f"{commit}:{file}").split("\n") for commit in (old, new)]
    try:
        parts = [_parts(file, text) for text in texts]
    except (SyntaxError, ValueError, RecursionError):
        return Counter()
    truth = _kept_lines(_git(repository, "diff", "-U0", old, new, "--", file), len(texts[0]))
    found = {
        before.line: after.line
        for each in paired_parts(parts[0], parts[1])
        if each.match is not Match.GONE and each.match is not Match.NEW
        for before, after in zip(each.before, each.after, strict=False)
    }
    return Counter(dict(_judged(parts[0], found, truth)))


def _judged(parts: Sequence[Part], found: dict[int, int], truth: dict[int, int]) -> Iterator[tuple[str, int]]:
    kept = [part.line for part in parts if part.line in truth]
    yield "kept", len(kept)
    yield "changed", len(parts) - len(kept)
    yield "right", sum(found.get(line) == truth[line] for line in kept)
    yield "wrong", sum(line in found and found[line] != truth[line] for line in kept)
    yield "not found", sum(line not in found for line in kept)
    yield "same number", sum(line == truth[line] for line in kept)


def _parts(file: str, text: Sequence[str]) -> list[Part]:
    """The lines that may call something, each in its function."""
    functions = _functions("\n".join(text))
    found = []
    for line, function in functions.items():
        stripped = text[line - 1].strip()
        if len(stripped) > 3 and "(" in stripped and not stripped.startswith(("#", "def ", "class ", "@")):
            place = (file, function.name, line, line - function.first_line, hash(stripped) & (1 << 62) - 1)
            found.append(Part(LeafKind.LINE, StepPhase.FORWARD, *place, "call"))
    return found


def _functions(text: str) -> dict[int, _Function]:
    """By line the innermost function."""
    found: dict[int, _Function] = {}

    def walk(node: ast.AST, names: list[str]) -> None:
        for child in ast.iter_child_nodes(node):
            own = names
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                own = [*names, child.name]
                if not isinstance(child, ast.ClassDef):
                    lines = range(child.lineno, (child.end_lineno or child.lineno) + 1)
                    found.update(dict.fromkeys(lines, _Function(".".join(own), child.lineno)))
            walk(child, own)

    walk(ast.parse(text), [])
    return found


def _kept_lines(diff: str, lines: int) -> dict[int, int]:
    """By line of the old file its number in the new one, for lines that git calls unchanged."""
    found, old, new = {}, 1, 1
    for hunk in _HUNK.finditer(diff):
        first, removed = int(hunk[1]), int(hunk[2] or 1)
        added = int(hunk[4] or 1)
        while old < (first if removed else first + 1):
            found[old] = new
            old, new = old + 1, new + 1
        old, new = old + removed, new + added
    for line in range(old, lines + 1):
        found[line] = new + line - old
    return found


def _git(repository: str, *words: str) -> str:
    command = ["git", "-C", repository, *words]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout


if __name__ == "__main__":
    main()
