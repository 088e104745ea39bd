"""Compares the cost of operators in isolation and in the program, for three workloads at 1 and 2 threads.

Each workload is recorded five times with the CPU time of every operator, and the median recording counts. The
signatures that make up 95 % of it after its first steps are measured alone. An operator's time includes that
of the operators it calls, which have signatures too. To count nothing twice, the weight of a signature is its
self CPU time, times the ratio of a whole call in isolation and in the program.

    python -m benchmarks.replay [--only transformer] [--threads 1] [--quick]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import harness
from benchmarks.in_program import Cost, Program, costs
from benchmarks.overhead.tables import markdown
from perfprobe.support import units
from perfprobe.tables.measurements import Measurement, Seen

WORKLOADS = Path(__file__).resolve().parent / "workloads"
PROGRAMS = {
    "transformer": ("transformer.py", "--epochs", "1", "--steps", "8"),
    "resnet": ("resnet.py", "--epochs", "1", "--images", "128"),
    "language_model": ("language_model.py", "--epochs", "1", "--windows", "16"),
}
SKIPPED_STEPS = 2
RECORDINGS = 5
HEAD = ["program, threads", "signatures", "of operator CPU", "not rebuilt", "isolated / program"]
HEAD += ["cold, no faults / program", "±15 %", "±30 %"]


@dataclass(frozen=True)
class Replayed:
    """A signature in the program and alone. weight_ns: its self time in the program."""

    found: Measurement
    cost: Cost

    @property
    def _in_program_ns(self) -> float:
        return max(self.cost.cpu_ns, 1) / self.cost.calls

    @property
    def ratio(self) -> float | None:
        """Time of a call alone, with the program's reuse distances and page faults, divided by that there."""
        return self.found.replay

    @property
    def cold_ratio(self) -> float | None:
        """The same with copies outside the caches and without the program's page faults."""
        return None if self.found.rotating is None else self.found.rotating.value / self._in_program_ns

    @property
    def off_ns(self) -> float:
        """The error of the sum that this signature causes."""
        return abs((self.ratio or 0.0) - 1) * self.cost.self_ns


def main() -> None:
    """Record, measure, print a row for each program, and then the signatures that disagree most."""
    args = _options()
    rows, details = [], []
    for name in args.only.split(",") if args.only else PROGRAMS:
        for threads in args.threads or (1, 2):
            program = _typical(name, threads)
            replayed = _replay(program, args)
            rows.append(_row(f"{name}, {threads}", program, replayed))
            details.append(_detail(f"{name}, {threads} threads", program, replayed, args.worst))
            print(markdown(HEAD, rows[-1:]), flush=True)
            harness.write(
                [one.found for one in replayed], args.json and args.json.with_suffix(f".{name}{threads}")
            )
    print("\n".join(details))
    print(markdown(HEAD, rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="PROGRAMS", help=f"separated by commas, of {', '.join(PROGRAMS)}")
    parser.add_argument("--threads", type=int, action="append", help="of torch's pool (1 and 2)")
    parser.add_argument(
        "--share", type=float, default=0.95, help="of operator CPU time that is replayed (0.95)"
    )
    parser.add_argument(
        "--worst", type=int, default=12, help="how many signatures that disagree are printed (12)"
    )
    harness.add_options(parser, seconds=0.3)
    return parser.parse_args()


def _typical(name: str, threads: int) -> Program:
    """The median recording: on a shared machine some recordings with two threads are twice as slow."""
    found = [_recorded(name, threads) for _ in range(RECORDINGS)]
    return sorted(found, key=lambda program: program.operators_ns / program.steps)[RECORDINGS // 2]


def _recorded(name: str, threads: int) -> Program:
    """Records with sleeping threads, as in measuring: a waiting thread that spins also uses CPU time."""
    script, *words = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "it.perfprobe")
        options = ["--detail", "bench", "--python", "off", "-o", path]
        command = [sys.executable, "-m", "perfprobe", "-q", *options, str(WORKLOADS / script)]
        command += [*words, "--threads", str(threads)]
        passive = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
        subprocess.run(command, check=True, env=passive, stdout=subprocess.DEVNULL)
        return costs(path, threads, SKIPPED_STEPS)


def _replay(program: Program, args: argparse.Namespace) -> list[Replayed]:
    chosen, covered_ns = [], 0
    for wanted, cost in program.costs.items():
        if covered_ns >= args.share * program.operators_ns:
            break
        covered_ns += cost.self_ns
        chosen.append((wanted, cost))
    calls = [(wanted, _seen(cost, program)) for wanted, cost in chosen]
    found = harness.all_measured(calls, harness.settings(args, counterfactuals=False))
    return [Replayed(one, cost) for one, (_, cost) in zip(found, chosen, strict=True)]


def _seen(cost: Cost, program: Program) -> Seen:
    share = cost.self_ns / program.operators_ns
    return Seen(cost.calls, share, cost.self_ns, cost.cpu_ns, cost.cpu_ns, faults=cost.faults)


def _row(name: str, program: Program, replayed: Sequence[Replayed]) -> list[str]:
    measured = [one for one in replayed if one.ratio is not None]
    covered_ns = sum(one.cost.self_ns for one in replayed)
    measured_ns = sum(one.cost.self_ns for one in measured)
    return [
        name,
        str(len(replayed)),
        units.percent(covered_ns / program.operators_ns),
        units.percent((covered_ns - measured_ns) / program.operators_ns),
        *(_sum(measured, which, measured_ns) for which in ("ratio", "cold_ratio")),
        *(
            _count(measured, [abs((one.ratio or 0.0) - 1) <= part for one in measured])
            for part in (0.15, 0.30)
        ),
    ]


def _sum(measured: Sequence[Replayed], which: str, measured_ns: int) -> str:
    whole_ns = sum((getattr(one, which) or 0.0) * one.cost.self_ns for one in measured)
    return f"{whole_ns / max(measured_ns, 1):.2f}"


def _count(measured: Sequence[Replayed], near: Sequence[bool]) -> str:
    return f"{sum(near)} of {len(measured)} ({sum(near) / max(len(measured), 1):.0%})"


def _detail(name: str, program: Program, replayed: Sequence[Replayed], worst: int) -> str:
    whole_ns = program.operators_ns
    other = units.percent(program.other_ns / (whole_ns + program.other_ns))
    lines = [f"\n{name}: {program.steps} steps; {other} of CPU time in what cannot be called again"]
    lines += [
        f"  {units.percent(one.cost.self_ns / whole_ns)}, {_call(one.found)}: {harness.verdict(one.found)}"
        for one in replayed
        if one.ratio is None
    ]
    measured = [one for one in replayed if one.ratio is not None]
    for one in sorted(measured, key=lambda one: -one.off_ns)[:worst]:
        lines.append(_disagreement(one, whole_ns))
    return "\n".join(lines)


def _disagreement(one: Replayed, whole_ns: int) -> str:
    share = units.percent(one.cost.self_ns / whole_ns)
    times = (
        f"{units.duration(one.cost.cpu_ns / one.cost.calls)} in the program, {harness.time(one.found)} alone"
    )
    faults = (
        f", {one.cost.faults / one.cost.calls:.0f} page faults there and {one.found.faults or 0:.0f} alone"
    )
    return f"  {one.ratio:.2f}, {share}: {_call(one.found)}: {times}{faults}"


def _call(found: Measurement) -> str:
    text = f"{found.wanted.operator} {found.wanted.example or found.wanted.signature}"
    return text if len(text) <= 130 else f"{text[:127]}..."


if __name__ == "__main__":
    main()
