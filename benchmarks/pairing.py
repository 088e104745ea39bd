"""Checks that a reference measured against itself gives 1: the error of pairing beside busy loops.

Each reference of the calls is timed as if it were the call, with a copy of itself as its limit, in rounds and
with the arithmetic of `perfprobe bench`. Each repetition is a process, because each process gives one end of
the interval that decides a verdict.

    python -m benchmarks.pairing [--repeats 5] [--loops 4]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from statistics import median
from typing import Any

from benchmarks import harness
from benchmarks.overhead.tables import markdown
from perfprobe.tables.measurements import Wanted

CALLS = (
    ("aten::mv", "f32[2048,2048] f32[2048]", 1),
    ("aten::relu", "f32[1048576]", 1),
    ("aten::add.Tensor", "f32[1024,1024] f32[1024,1024] alpha=1", 1),
    ("aten::add_.Tensor", "f32[1024,1024] f32[1024,1024] alpha=1", 1),
    ("aten::sum", "f32[2048,2048]", 1),
    ("aten::zero_", "f32[4194304]", 1),
    ("aten::mm", "f64[512,512] f64[512,512]", 1),
    ("aten::mm", "f32[512,512] f32[512,512]", 1),
    ("aten::exp", "f32[1048576]", 1),
    ("aten::tanh", "f64[262144]", 1),
    ("aten::take", "f32[1048576] i64[262144]", 1),
    ("aten::relu", "f32[4194304]", 2),
    ("aten::mm", "f32[1024,1024] f32[1024,1024]", 2),
    ("aten::embedding", "f32[32000,256] i64[4096] padding_idx=-1 scale_grad_by_freq=False sparse=False", 2),
)
NEAR = 0.1
_ROTATED_BYTES = 64 << 20
_OTHERS = 5


def main() -> None:
    """Measure in new processes; print a row for each reference and how many are near 1."""
    args = _options()
    if args.child is not None:
        print(json.dumps(_fractions(args.child, args.case_seconds)))
        return
    with harness.busy(args.loops):
        found = [_child(number, args.case_seconds) for number in range(args.repeats)]
    print(f"a reference by itself, {args.repeats} processes beside {args.loops} busy loops:\n")
    names = dict.fromkeys(name for one in found for name in one)  # processes may choose different products
    rows = [[name, *_cells([one[name] for one in found if name in one])] for name in names]
    print(markdown(["reference", "median", "lowest", "highest", "within 0.9-1.1"], rows))
    print(f"all: {_near([value for one in found for value in one.values()])}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairing", description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--loops", type=int, default=4, help="busy processes beside it, 0 for none")
    parser.add_argument("--case-seconds", type=float, default=0.3)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def _cells(values: list[float]) -> list[str]:
    return [f"{median(values):.3f}", f"{min(values):.3f}", f"{max(values):.3f}", _near(values)]


def _near(values: list[float]) -> str:
    return f"{sum(abs(value - 1) <= NEAR for value in values)} of {len(values)}"


def _child(number: int, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.pairing", "--child", str(number)]
    command += ["--case-seconds", str(seconds)]
    passive = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=passive)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _fractions(seed: int, seconds: float) -> dict[str, float]:
    """The fractions of the references of each call, by the names of reference and call."""
    import torch

    from perfprobe.bench import allocator
    from perfprobe.bench.clocks import HostClock
    from perfprobe.bench.references import References
    from perfprobe.bench.subjects import Timing

    allocator.settle()
    clock = HostClock()
    references = References(torch, clock, "cpu", _ROTATED_BYTES)
    timing = Timing(clock, seconds, random.Random(seed), torch.set_num_threads)
    made = {
        f"{one.text}, for {operator.removeprefix('aten::')} {inputs.split()[0]}, {threads}": one
        for operator, inputs, threads in CALLS
        for one in _references(torch, references, operator, inputs, threads)
    }
    # Each round contains other calls too, as for a call with counterfactuals.
    after = list(made.values()) * 2
    return {
        name: _by_itself(one, after[at + 1 : at + 1 + _OTHERS], timing)
        for at, (name, one) in enumerate(made.items())
    }


def _references(torch: Any, references: Any, operator: str, inputs: str, threads: int) -> list[Any]:
    from perfprobe.bench.gather_reference import Gathering
    from perfprobe.bench.rebuild.rebuilt import Rebuilt
    from perfprobe.bench.rebuild.recipes import recipe
    from perfprobe.bench.rebuild.schema import schemas
    from perfprobe.bench.subjects import Arguments
    from perfprobe.models.work import work

    call = Rebuilt(recipe(Wanted(operator, inputs), schemas(operator, torch)), torch)
    model = work(operator, inputs)
    assert model is not None
    operands = [call.operands(index) for index in range(8)]
    gathering = Gathering(operator, [Arguments(one.args, one.kwargs) for one in operands], 1 << 30)
    found: list[Any] = references.of(model, threads, call.writes, references.arena(model), gathering)
    return found


def _by_itself(reference: Any, others: list[Any], timing: Any) -> float:
    """Times it as if it were a call, next to a copy of itself at another place among the operands."""
    from perfprobe.bench.answers import Answer, Limit
    from perfprobe.bench.subjects import Subject
    from perfprobe.bench.summary import summarise

    subject = reference.subject
    sets, half = subject._sets, len(subject._sets) // 2
    beside = [*sets[half:], *sets[:half]]
    call, itself = (
        Subject(name, subject._function, of, subject.threads)
        for name, of in (("rotating", sets), ("itself", beside))
    )
    more = [
        Subject(f"change {at}", one.subject._function, one.subject._sets, one.subject.threads)
        for at, one in enumerate(others)
    ]
    blocks = timing.rounds([call, itself], more).blocks
    answer = Answer(0, blocks=blocks, limits=[Limit(reference.kind, reference.text, 1.0, 0.0, "itself")])
    (bound,) = summarise(Wanted("itself", ""), None, [answer], None).bounds
    return bound.fraction.value


if __name__ == "__main__":
    main()
