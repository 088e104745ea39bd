"""What a look at the stack costs in several Pythons, and how well samples divide the time of a known program.

    python -m benchmarks.versions.pythons [--seconds 10] [--write] PYTHON ...

For each interpreter the frame reader is compiled and timed (looks.py). If perfprobe is installed there, it
records a program that measures its own functions (known.py). `--write` puts the results into results.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from benchmarks.versions.results import Row, merged, of_pythons
from tests.collect.test_other_pythons import ROOT, compiled, said

KNOWN = Path(__file__).with_name("known.py")
TRIES = 3


def looks(python: str, folder: Path) -> dict[str, list[float]]:
    """Nanoseconds of a look, by depth of the stack."""
    module = compiled(python, folder, level=2)
    found: dict[str, list[float]] = json.loads(said(python, "-m", "benchmarks.versions.looks", str(module)))
    return found


def shares(python: str, seconds: float, folder: Path) -> list[tuple[float, float]]:
    """Shares of the functions in percent: as the program measured them, and as perfprobe's samples say."""
    words = [
        python,
        "-m",
        "perfprobe",
        "-o",
        "known.perfprobe",
        "--json",
        "known.json",
        str(KNOWN),
        str(seconds),
    ]
    for name in ("known.perfprobe", "known.json"):
        (folder / name).unlink(missing_ok=True)
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    truth: dict[str, int] = json.loads(done.stdout)
    rows = json.loads((folder / "known.json").read_text(encoding="utf-8"))["tables"]["functions"]
    sampled = {row["function"]: row["total_ns"] or 0 for row in rows if row["function"] in truth}
    return [
        (100 * truth[name] / sum(truth.values()), 100 * sampled.get(name, 0) / max(1, sum(sampled.values())))
        for name in truth
    ]


def has_perfprobe(python: str, folder: Path) -> bool:
    """Whether the interpreter has it installed."""
    words = [python, "-c", "import perfprobe._core"]
    return subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 0


def row(python: str, seconds: float) -> Row:
    """All measurements of one interpreter."""
    version = said(python, "-c", "import platform; print(platform.python_version())").strip()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found: Row = {"python": version, "looks_ns": looks(python, folder), "shares": []}
        if has_perfprobe(python, folder):
            found["shares"] = [shares(python, seconds, folder) for _ in range(TRIES)]
    return found


def main() -> None:
    """Measure all of them, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.versions.pythons", description=__doc__.split("\n")[0]
    )
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument("--seconds", type=float, default=10, help="of the known program")
    parser.add_argument("--write", action="store_true", help="put the results into results.json")
    given = parser.parse_args()
    rows = [row(os.path.abspath(python), given.seconds) for python in given.pythons]
    print(of_pythons(rows))
    if given.write:
        merged("pythons", rows, ("python",))


if __name__ == "__main__":
    assert Path.cwd() == ROOT, f"run it in {ROOT}"
    main()
