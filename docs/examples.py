"""Makes the examples of README and guides: runs a workload under perfprobe and keeps what it prints.

    python -m docs.examples         some two minutes, most for `bench`; `make examples` puts them in place

Figures differ from run to run; a test checks that the columns, sections and options in them exist.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
WORKLOADS = FOLDER.parent / "benchmarks/workloads"
SCRIPT = "transformer.py"
COPIED = (SCRIPT, "window_mean.cpp", "resnet.py")
WIDE = 130  # of the tables
NARROW = 96  # of what README shows

# Example: its command, and its width. Those of `report` and `bench` read the newest recording.
COMMANDS: dict[str, tuple[str, int]] = {
    "readme": ("perfprobe resnet.py --threads 1", NARROW),
    "first-screen": ("perfprobe transformer.py --threads 1", NARROW),
    "operators": ("perfprobe report --view operators --top 8", WIDE),
    "lines": ("perfprobe report --view lines --top 8", WIDE),
    "functions": ("perfprobe report --view functions --top 8", WIDE),
    "between": ("perfprobe report --view between --top 6", WIDE),
    "steps": ("perfprobe report --view phases", WIDE),
    "bench": ("perfprobe bench --top 4", WIDE),
}


def main() -> None:
    """Run all in a folder of their own, and write the texts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in COPIED:
            shutil.copy(WORKLOADS / file, folder)
        _called(folder, f"perfprobe -q {SCRIPT} --epochs 0", NARROW)  # compiles the workload's own operator
        for recording in folder.glob(".perfprobe/*.perfprobe"):
            recording.unlink()
        for example, (command, width) in COMMANDS.items():
            text = _called(folder, command, width)
            (FOLDER / "examples" / f"{example}.txt").write_text(f"$ {command}\n{text}", encoding="utf-8")


def _called(folder: Path, command: str, width: int) -> str:
    """What it prints on both outputs, without the name of the temporary folder.

    Raises:
        CalledProcessError: it fails.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", *command.split()],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(width)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if ".py" in command else None,
        text=True,
        check=True,
    )
    return done.stdout.replace(f"{folder}{os.sep}", "")


if __name__ == "__main__":
    main()
