"""Plants defects in operators and checks that the verdicts show them: each call without and with the defect.

Only the measuring processes get the replaced kernel, by a `sitecustomize` that they import first.

    python -m benchmarks.defects
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from benchmarks import harness
from benchmarks.overhead.tables import markdown
from perfprobe.bench.measure import BenchSettings
from perfprobe.support import starter, units
from perfprobe.tables.measurements import Measurement, Wanted

CLONES = """
def mul(left, right):
    for _ in range({count}):
        left = left.clone()
    return torch.ops.aten.mul.out(left, right, out=torch.empty_like(left))
replaced = {{"mul.Tensor": mul}}
"""
ONE_THREAD = """
def mul(left, right):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return torch.ops.aten.mul.out(left, right, out=torch.empty_like(left))
    finally:
        torch.set_num_threads(threads)
replaced = {"mul.Tensor": mul}
"""
_CUSTOMIZE = """
import warnings
import torch
{body}
library = torch.library.Library("aten", "IMPL")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for name, kernel in replaced.items():
        library.impl(name, kernel, "CPU", allow_override=True)
"""

MUL = "f32[2048,2048] f32[2048,2048]"
TRANSPOSED = "f32[2048,2048] f32[2048,2048]{1,2048}"
FRESH, RECYCLED = "f32[4096,4096]", "f32[4096,4096] f32[4096,4096] non_blocking=False"


@dataclass(frozen=True)
class Defect:
    """A call, the call with the defect, and the code that replaces kernels for the second."""

    name: str
    sound: Wanted
    defective: Wanted
    body: str = ""


def call(operator: str, inputs: str, threads: int = 1) -> Wanted:
    """A call in the form that the harness takes."""
    return Wanted(operator, inputs, inputs, threads=threads)


DEFECTS = (
    Defect(
        "an extra clone", call("aten::mul.Tensor", MUL), call("aten::mul.Tensor", MUL), CLONES.format(count=1)
    ),
    Defect("one thread", call("aten::mul.Tensor", MUL, 2), call("aten::mul.Tensor", MUL, 2), ONE_THREAD),
    Defect("a transposed operand", call("aten::div.Tensor", MUL), call("aten::div.Tensor", TRANSPOSED)),
    Defect("a new buffer each time", call("aten::copy_", RECYCLED), call("aten::clone", FRESH)),
)


@contextlib.contextmanager
def replaced(body: str) -> Iterator[None]:
    """While this context is open, new processes have other kernels. An empty body changes nothing."""
    if not body:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(_CUSTOMIZE.format(body=body), encoding="utf-8")
        path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        # perfprobe's own processes remove the variable, so that they run no foreign code.
        with mock.patch.dict(os.environ, PYTHONPATH=path), mock.patch.object(starter, "CODE_VARIABLES", ()):
            yield


def both(defect: Defect, chosen: BenchSettings) -> tuple[Measurement, Measurement]:
    """Measures the call without and with the defect."""
    sound = harness.all_measured([(defect.sound, None)], chosen)[0]
    with replaced(defect.body):
        return sound, harness.all_measured([(defect.defective, None)], chosen)[0]


def main() -> None:
    """Measure, and print a row for each defect."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defects", description=__doc__.splitlines()[0])
    harness.add_options(parser)
    args = parser.parse_args()
    chosen = harness.settings(args)
    rows = []
    for defect in DEFECTS:
        sound, defective = both(defect, chosen)
        rows.append([defect.name, *_cells(sound), *_cells(defective)])
    padded = harness.all_measured([(call("aten::bmm", "f64[256,13,13] f64[256,13,13]"), None)], chosen)[0]
    rows.append(["f64 13x13x13, which padding does not help", *_cells(padded), "", "", ""])
    head = ["defect", "without: time", "of the limit", "verdict", "with: time", "of the limit", "verdict"]
    print(markdown(head, rows))


def _cells(found: Measurement) -> list[str]:
    limit = harness.nearest(found)
    fraction = "-" if limit is None else units.percent(limit.fraction.value)
    return [harness.time(found), fraction, harness.verdict(found)]


if __name__ == "__main__":
    main()
