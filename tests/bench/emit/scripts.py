"""Writes scripts and runs them in another folder in which perfprobe cannot be imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfprobe.bench.emit.folder import Folder, write_scripts
from perfprobe.bench.rebuild.recipe import CallRecipe
from perfprobe.tables.measurements import Wanted
from tests import eager

LIMIT_S = 240


def written(calls: Sequence[CallRecipe], folder: Path) -> Folder:
    return write_scripts([(Wanted(one.operator, "f32[64,32]", threads=1), one, 0.1) for one in calls], folder)


def alone() -> dict[str, str]:
    """An environment in which torch can be imported, and an editable perfprobe (with `python -S`) cannot."""
    import torch

    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PERFPROBE"))}
    path = os.pathsep.join([eager.WITHOUT_SITE, str(Path(torch.__file__).parents[1])])
    return {**kept, "PYTHONPATH": path}


def start(
    words: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-S", *map(str, words)],
        cwd=folder,
        env={**alone(), **(environment or {})},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(
    words: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Runs a script, which must succeed; returns its output and its standard error."""
    process = start(words, folder, environment)
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err
    return out, err


def figure(out: str, what: str) -> float:
    """The number that a script printed after `calls`, `wall us/call` or `cpu us/call`."""
    return next(float(line.split()[-1]) for line in out.splitlines() if line.startswith(f"{what} "))
