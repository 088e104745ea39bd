"""Tries perfprobe with the torch of an environment, and keeps what came of it.

    python -m benchmarks.versions.torches [--from TEXT] [--write]

Run it with the Python of an environment that has torch and perfprobe installed: it needs nothing else. It
records a program whose operators and lines are known, with the source of operators that perfprobe chooses
there and with torch's profiler. `--write` puts the results into results.json, from which `make docs` makes
the table in docs/install.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.versions.results import Row, merged

CALLS = 50
PROGRAM = f"""\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(64, 64)
    def forward(self, x):
        return self.inner(x).relu() / 2
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range({CALLS}):
    optimizer.zero_grad()
    net(torch.ones(32, 64)).sum().backward()
    optimizer.step()
print("ended")
"""
# Operator, line and phase, and how often it is called: counted by hand.
EXPECTED = {
    ("addmm", 7, "forward"): CALLS,
    ("relu", 7, "forward"): CALLS,
    ("div", 7, "forward"): CALLS,
    ("threshold_backward", 7, "backward"): CALLS,
    ("mm", 7, "backward"): CALLS,  # of the weight; the input needs no gradient
}
BY_PROFILER = "the autograd profiler records them instead"


def main() -> None:
    """Try both sources."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.versions.torches", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--from", dest="origin", default="PyPI", help="where its torch is from")
    parser.add_argument("--write", action="store_true", help="put the results into results.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(PROGRAM)
        rows = [tried(Path(folder), chosen, given.origin) for chosen in ("observer", "autograd")]
    print(json.dumps(rows, indent=1))
    if given.write:
        merged("torches", rows, ("torch", "python", "asked"))


def tried(folder: Path, asked: str, origin: str) -> Row:
    """Records the program with a source of operators, by default the observer."""
    asks = [] if asked == "observer" else ["--operators", asked]
    words = [sys.executable, "-m", "perfprobe", "-o", f"{asked}.perfprobe", "--json", f"{asked}.json", *asks]
    begun_s = time.monotonic()
    done = subprocess.run([*words, "train.py"], cwd=folder, capture_output=True, text=True, check=False)
    took_s = time.monotonic() - begun_s
    report: dict[str, Any] = {"tables": {"hotspots": []}, "missing": []}
    if (folder / f"{asked}.json").exists():
        report = json.loads((folder / f"{asked}.json").read_text(encoding="utf-8"))
    found = {(row["operator"].removeprefix("aten::"), row["line"], row["phase"]): 0 for row in _hot(report)}
    for row in _hot(report):
        found[row["operator"].removeprefix("aten::"), row["line"], row["phase"]] += row["calls"]
    wrong = [
        f"{'/'.join(map(str, key))}: {found.get(key, 0)} of {count}"
        for key, count in EXPECTED.items()
        if found.get(key, 0) != count
    ]
    reasons = [str(loss["reason"]) for loss in report["missing"]]
    return {
        "torch": version_of_torch(),
        "python": platform.python_version(),
        "asked": asked,
        "used": used(asked, reasons, found),
        "origin": origin,
        "status": done.returncode,
        "ended": "ended" in done.stdout,
        "wrong": wrong,
        "losses": reasons,
        "seconds": round(took_s, 1),
        "date": time.strftime("%Y-%m-%d"),
        "said": [] if done.returncode == 0 and not wrong else done.stderr.splitlines()[-3:],
    }


def _hot(report: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = report["tables"]["hotspots"]
    return rows


def used(asked: str, reasons: list[str], found: dict[Any, int]) -> str:
    """Which source the operators are from."""
    if not found:
        return "none"
    return (
        "autograd" if asked == "autograd" or any(BY_PROFILER in reason for reason in reasons) else "observer"
    )


def version_of_torch() -> str:
    """The version of this environment's torch."""
    words = [sys.executable, "-c", "import torch; print(torch.__version__)"]
    done = subprocess.run(words, cwd=os.path.expanduser("~"), capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
