"""Whether SLOW names the bottleneck of each planted program, beside processes that keep processors busy.

python -m benchmarks.first_screen [--busy 4] [--only NAME]

The programs are those of tests/planted, which judges them without busy loops. CPU must say that others
used the processors, and no part of the screen may contradict another.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import busy
from benchmarks.overhead.tables import markdown
from tests.planted.programs import PLANTED, Planted
from tests.report.invariants import violations


def tables(planted: Planted, folder: Path) -> dict[str, Any]:
    """The report of a run of the program."""
    words = ("-o", "run.perfprobe", "--json", "run.json", *planted.write(folder))
    root = str(Path(__file__).resolve().parent.parent)
    subprocess.run(
        [sys.executable, "-m", "perfprobe", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        check=True,
    )
    return dict(json.loads((folder / "run.json").read_bytes())["tables"])


def is_named(planted: Planted, slow: dict[str, Any]) -> bool:
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
                found = tables(PLANTED[name], Path(folder))
            said = {row["label"]: row for row in found["first_screen"][::-1]}
            is_right = is_named(PLANTED[name], said["SLOW"])
            texts = [said["SLOW"]["text"], said["CPU"]["text"], "; ".join(violations(found))]
            rows.append([name, "yes" if is_right else "no", *texts])
            print(name, rows[-1][1], file=sys.stderr, flush=True)
    print(markdown(["planted", "named", "SLOW", "CPU", "contradictions"], rows))
    print(f"{sum(row[1] == 'yes' for row in rows)} of {len(rows)}")


if __name__ == "__main__":
    main()
