"""Results of checks: one line of JSON each when it ends, and one summary for people."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

PASS, FAIL, SKIP = "pass", "fail", "skip"
NOT_RUN = "not run: the time was used up"
MOST_FILES = 8
MOST_DEPTH = 2  # levels of nested folders
MOST_FILE_BYTES = 16 << 20
_MOST_OUTPUT_BYTES = 4 << 20


class Skip(Exception):
    """The check is impossible here; the text says why."""


class Unmet(Exception):
    """The check failed; the text says what was seen instead."""


@dataclass(frozen=True)
class Result:
    """How a check ended. said: what it measured, whether it passed or not."""

    name: str
    status: str
    reason: str = ""
    seconds: float = 0.0
    said: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """A line for people, such as 'fail  thread_ids  2.1 s  ids differ: ...'."""
        return f"{self.status:<5} {self.name:<22} {self.seconds:6.1f} s  {self.reason}".rstrip()


class Report:
    """The files in `folder`: results.jsonl (written as results come), output.txt, and finally summary.txt."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._started = time.monotonic()
        self.results: list[Result] = []
        for name in ("results.jsonl", "output.txt", "summary.txt"):
            (folder / name).write_text("", encoding="utf-8")

    def add(self, result: Result, output: str = "") -> None:
        """Prints the result and writes it. output: the output of its process."""
        self.results.append(result)
        print(result.line(), flush=True)
        with (self.folder / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result), default=str) + "\n")
        if output and (self.folder / "output.txt").stat().st_size < _MOST_OUTPUT_BYTES:
            with (self.folder / "output.txt").open("a", encoding="utf-8") as file:
                file.write(f"\n===== {result.name}: {result.status}\n{output}\n")

    def close(self) -> int:
        """Writes the summary; returns the exit status: 1 if a check failed."""
        counted = Counter(result.status for result in self.results)
        total = ", ".join(f"{counted[status]} {status}" for status in (PASS, FAIL, SKIP))
        lines = [f"{total}; {time.monotonic() - self._started:.0f} s", ""]
        for result in self.results:
            lines.append(result.line())
            lines += [f"        {key}: {value}" for key, value in result.said.items()]
        late = [result.name for result in self.results if result.reason == NOT_RUN]
        if late:
            only = " ".join(f"--only {name}" for name in late)
            lines += ["", f"{len(late)} checks did not get a turn; in a run of their own: {only}"]
        lines += ["", *self._left_out()]
        (self.folder / "summary.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{total}: {self.folder / 'summary.txt'}", flush=True)
        return 1 if counted[FAIL] else 0

    def _left_out(self) -> list[str]:
        """Removes files that cannot be copied back: too large, too deep, or beyond the eighth."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        too_deep = [path for path in files if len(path.relative_to(self.folder).parts) > MOST_DEPTH + 1]
        files = [path for path in files if path not in too_deep]
        too_large = [path for path in files if path.stat().st_size > MOST_FILE_BYTES]
        own = {"summary.txt", "results.jsonl", "output.txt"}
        others = [path for path in files if path not in too_large and path.name not in own]
        beyond = others[MOST_FILES - len(own) :]
        left_out = {"too large": too_large, "too deep": too_deep, "one file too many": beyond}
        for paths in left_out.values():
            for path in paths:
                os.unlink(path)
        return [f"left out, {why}: {path.name}" for why, paths in left_out.items() for path in paths]
