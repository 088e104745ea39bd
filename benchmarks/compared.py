"""Whether `perfprobe compare` finds what was planted in a line, and nothing where nothing was.

A program is compared with itself, and with a version whose forward line does 5 or 15 % more, beside busy
loops.
Its steps are repeated products of matrices, so what was planted is what a step takes more.

    python -m benchmarks.compared [--busy 4] [--same 10] [--more 5 15] [--repeats 10] [--steps 250]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import busy
from benchmarks.overhead.tables import markdown
from tests.eager import VARIABLES

_PERFPROBE = (sys.executable, "-m", "perfprobe", "compare")
_PRODUCTS = 200  # in a step
PROGRAM = """\
import os
import torch
import perfprobe

products, steps = int(os.environ["PRODUCTS"]), int(os.environ["STEPS"])
torch.set_num_threads(1)


class Products(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(96))

    def forward(self, x):
        for _ in range(products):
            x = torch.mm(x, self.weight)
        return x


model, x = Products(), torch.randn(96, 96)
with torch.no_grad():
    for _ in range(steps):
        model(x)
        perfprobe.step()
"""

# Starts in a tenth of a second, and has the same steps.
PLAIN = """\
import os
import perfprobe

products, steps = int(os.environ["PRODUCTS"]), int(os.environ["STEPS"])
for _ in range(steps):
    for _ in range(products):
        sum(range(1500))
    perfprobe.step()
"""


def main() -> None:
    """Compare, and print a row for each comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--busy", type=int, default=4, help="processes that only compute beside it (4)")
    parser.add_argument("--same", type=int, default=10, help="comparisons of the program with itself (10)")
    parser.add_argument("--more", type=float, nargs="*", default=[5, 15], help="planted, in percent (5 15)")
    parser.add_argument("--repeats", type=int, default=10, help="comparisons of each of these (10)")
    parser.add_argument("--steps", type=int, default=250, help="of a run (250)")
    parser.add_argument("--measure", default="own")
    parser.add_argument(
        "--plain", action="store_true", help="plain Python instead of torch, which takes long"
    )
    given = parser.parse_args()
    rows = []
    with busy(given.busy), tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.py").write_text(PLAIN if given.plain else PROGRAM)
        planted = [0.0] * given.same + [more for more in given.more for _ in range(given.repeats)]
        for more in planted:
            begun_s = time.monotonic()
            said = _compared(Path(folder), more, given.steps, given.measure)
            rows.append([f"{more:+.0f} %", said, f"{time.monotonic() - begun_s:.0f} s"])
            print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    print(markdown(["planted", "said", "took"], rows))


def _compared(folder: Path, more: float, steps: int, measure: str) -> str:
    """The line STEP."""
    products = round(_PRODUCTS * (1 + more / 100))
    programs = [[f"PRODUCTS={each}", f"STEPS={steps}", "program.py"] for each in (_PRODUCTS, products)]
    command = [*_PERFPROBE, "--measure", measure, "--", *programs[0], "--", *programs[1]]
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", **VARIABLES}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return next((line for line in done.stdout.splitlines() if line.startswith("STEP")), done.stderr.strip())


if __name__ == "__main__":
    main()
