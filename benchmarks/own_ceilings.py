"""Compares our kernels of exp, tanh, erf and division with plain C loops vectorised by the system's compiler.

Both work on the same 32768 floats of f32 in the same process, in alternating blocks. Of the C loops of one
function the fastest counts. The ratio is their time divided by ours: below 0.87 our ceiling is more than 15 %
too low. A loop only counts if it is as exact as ours: within 5e-7 of each result, for tanh_formula of 1.

    python -m benchmarks.own_ceilings [--rounds 30]
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt

from benchmarks.overhead.tables import markdown
from perfprobe.bench import own_kernels

SOURCE = Path(__file__).resolve().parent / "element_loops.c"
# Not -ffast-math, which replaces division by an estimate with corrections: half as fast here.
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast")
LOOPS = {
    "exp": ("exp_formula",),
    "tanh": ("tanh_formula", "tanh_ratio"),
    "erf": ("erf_ratio",),
    "div": ("div_plain",),
}
COUNT = 32768
_CALLS = 10
Floats = npt.NDArray[np.float32]
Loop = Callable[[Floats, Floats], Callable[[], object]]  # takes values and results


def main() -> None:
    """Print a row for each function."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.own_ceilings", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        loops = compiled(Path(folder))
        if loops is None:
            raise SystemExit("there is no C compiler: install cc, gcc or clang")
        rows = [_row(kind, loops, rounds) for kind in LOOPS]
    head = ["f32", "our kernel", "ns an element", "fastest C loop", "ns an element", "C loop / ours"]
    print(markdown(head, rows))


def compiler() -> str | None:
    """The system's compiler; None if there is none."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def compiled(folder: Path) -> dict[str, Loop] | None:
    """The loops by name; None without a compiler."""
    command, library = compiler(), folder / "element_loops.so"
    if command is None:
        return None
    subprocess.run([command, *FLAGS, "-shared", "-fPIC", str(SOURCE), "-o", str(library), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    return {name: _loop(loaded, name) for names in LOOPS.values() for name in names}


def _loop(library: ctypes.CDLL, name: str) -> Loop:
    function = getattr(library, name)

    def bound(values: Floats, out: Floats) -> Callable[[], object]:
        # Pointers are made once: making them takes a third of the loop's time.
        arrays = [ctypes.c_void_p(array.ctypes.data) for array in (values, values, out)]
        return partial(function, *arrays, ctypes.c_int64(len(out)))

    return bound


def ours(kind: str) -> Loop:
    """Our fastest f32 kernel that runs here."""
    function = own_kernels.element_call(own_kernels.element_kernels()[kind, "f32"])
    return lambda values, out: partial(function, values, values, out)


def _row(kind: str, loops: dict[str, Loop], rounds: int) -> list[str]:
    values = np.random.default_rng(0).uniform(0.5, 1.5, COUNT).astype(np.float32)
    out = np.empty_like(values)
    every = {"ours": ours(kind), **{name: loops[name] for name in LOOPS[kind]}}
    calls = {name: loop(values, out) for name, loop in every.items()}
    times_ns: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times_ns[name].append(_block_ns(call))
    own = times_ns.pop("ours")
    best = min(times_ns, key=lambda name: median(times_ns[name]))
    ratio = median(theirs / ns for theirs, ns in zip(times_ns[best], own, strict=True))
    name = own_kernels.element_kernels()[kind, "f32"]
    return [kind, name, f"{median(own):.3f}", best, f"{median(times_ns[best]):.3f}", f"{ratio:.2f}"]


def _block_ns(call: Callable[[], object]) -> float:
    """Nanoseconds per element."""
    call()
    began_ns = time.thread_time_ns()
    for _ in range(_CALLS):
        call()
    return (time.thread_time_ns() - began_ns) / _CALLS / COUNT


if __name__ == "__main__":
    main()
