"""Whether SLOW names the bottleneck of each planted program, beside processes that keep processors busy.

python -m benchmarks.first_screen [--busy 4] [--only NAME]

The programs are those of tests/planted, which judges them without busy loops. CPU must say that neighbours
used the processors.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import busy
from benchmarks.overhead.tables import markdown
from tests.planted.programs import PLANTED, Planted


def screen(planted: Planted, folder: Path) -> dict[str, dict[str, object]]:
    """The first screen of a run of the program, by label."""
    words = ("-o", "run.perfprobe", "--json", "run.json", *planted.write(folder))
    root = str(Path(__file__).resolve().parent.parent)
    subprocess.run(
        [sys.executable, "-m", "perfprobe", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        check=True,
    )
    rows = json.loads((folder / "run.json").read_bytes())["tables"]["first_screen"]
    return {row["label"]: row for row in rows[::-1]}


def is_named(planted: Planted, slow: dict[str, object]) -> bool:
    """Whether SLOW says what was planted, and names its line."""
    if planted.slow not in str(slow["text"]):
        return False
    lines = ["", *planted.text.splitlines()]
    return not planted.line or planted.line in lines[int(str(slow["line"] or 0))]


def main() -> None:
    """Prints a table with a row for each program."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_screen")
    parser.add_argument("--busy", type=int, default=4, help="processes that keep processors busy")
    parser.add_argument("--only", choices=PLANTED)
    given = parser.parse_args()
    rows = []
    with busy(given.busy):
        for name in [given.only] if given.only else PLANTED:
            with tempfile.TemporaryDirectory() as folder:
                said = screen(PLANTED[name], Path(folder))
            is_right = is_named(PLANTED[name], said["SLOW"])
            rows.append(
                [name, "yes" if is_right else "no", str(said["SLOW"]["text"]), str(said["CPU"]["text"])]
            )
            print(name, rows[-1][1], file=sys.stderr, flush=True)
    print(markdown(["planted", "named", "SLOW", "CPU"], rows))
    print(f"{sum(row[1] == 'yes' for row in rows)} of {len(rows)}")


if __name__ == "__main__":
    main()
