"""Whether each planted problem of threads is found at its line, and nothing else.

A quota needs the cgroup controller `cpu` (version 1) and root; otherwise it is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import busy
from benchmarks.overhead.tables import markdown
from benchmarks.threads.programs import MARK, PLANTED, Planted

_PERFPROBE = (sys.executable, "-m", "perfprobe")
_GROUPS = Path("/sys/fs/cgroup/cpu")
_PERIOD_US = 100_000


def options(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument("--only", choices=list(PLANTED), help="one program")


def run(given: argparse.Namespace) -> str:
    """A table with a row for each program."""
    rows = []
    for name in [given.only] if given.only else PLANTED:
        print(name, file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            rows.append([name, *_judged(PLANTED[name], Path(folder))])
    return markdown(["planted", "found", "at its line", "what is said"], rows)


def _judged(planted: Planted, folder: Path) -> list[str]:
    try:
        found = _problems(planted, folder)
    except PermissionError as error:
        return ["-", "-", f"needs {error.filename} of version 1, as root"]
    of_program = [row for row in found if row["of_program"]]
    said = "; ".join(f"{row['problem']}: {row['what']}" for row in found) or "no problem"
    if not planted.problem:
        return ["no" if of_program else "yes", "", said]
    hits = [row for row in found if row["problem"] == planted.problem]
    lines = planted.text.splitlines()
    at_line = any((row["line"] or 0) > 0 and MARK in lines[row["line"] - 1] for row in hits)
    alone = len(of_program) == int(planted.of_program)
    return ["yes" if hits and alone else "and others" if hits else "no", "yes" if at_line else "no", said]


def _problems(planted: Planted, folder: Path) -> list[dict[str, Any]]:
    """The rows of `thread_problems` for a run of the program."""
    (folder / "program.py").write_text(planted.text)
    command = [*planted.prefix, *_PERFPROBE, "run", "-q", "-o", "made.perfprobe", "program.py"]
    with busy(planted.busy), _limited(planted.quota) as join:
        environment = {**os.environ, **planted.variables}
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, preexec_fn=join)
    shown = [*_PERFPROBE, "threads", "made.perfprobe", "--json"]
    text = subprocess.run(shown, cwd=folder, check=True, capture_output=True).stdout
    rows: list[dict[str, Any]] = json.loads(text)["tables"]["thread_problems"]
    return rows


@contextmanager
def _limited(quota: float) -> Iterator[Any]:
    """A function that puts the process that calls it under a quota; None for no quota.

    Raises:
        PermissionError: there is no such cgroup, or it may not be made.
    """
    if not quota:
        yield None
        return
    group = _GROUPS / f"perfprobe-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise PermissionError(error.errno, error.strerror, str(_GROUPS)) from error
    try:
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(round(quota * _PERIOD_US)))
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        group.rmdir()
