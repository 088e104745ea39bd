"""What each signature cost in a recorded program: its calls and their CPU time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from perfprobe.bench.later_values import values_of
from perfprobe.bench.reuse import Reuse, by_signature
from perfprobe.merge.link import link
from perfprobe.tables.events import LinkedOperators, OperandReuse, Signatures
from perfprobe.tables.measurements import Wanted
from perfprobe.tables.recording import Recording
from perfprobe.tables.storage import read
from perfprobe.tables.strings import Strings

_STEP = "Optimizer.step#"
_NOT_CALLABLE = ("autograd::", "torch::autograd::")


@dataclass
class Cost:
    """CPU time without that of recording, and page faults of the calling thread, including inner calls.

    self_ns: without inner calls.
    """

    calls: int = 0
    cpu_ns: int = 0
    self_ns: int = 0
    faults: int = 0


@dataclass(frozen=True)
class Program:
    """calls: sorted by self time. other_ns: CPU time of what cannot be called: backward nodes, steps."""

    costs: dict[Wanted, Cost]
    other_ns: int
    steps: int

    @property
    def operators_ns(self) -> int:
        """CPU time of all operators that can be called."""
        return sum(cost.self_ns for cost in self.costs.values())


def costs(path: str, threads: int, skipped: int) -> Program:
    """All signatures of a program recorded with `--detail bench`, without its first steps.

    In the first steps memory is new, oneDNN makes its kernels and the optimizer its state. Measurements in
    isolation come after all that.
    """
    recording = read(path)
    rows = LinkedOperators.concat(list(link(recording).operators([])))
    begin_ns, steps = _after(recording, rows, skipped)
    cpu_ns = _cpu_ns(rows)
    self_ns = _self_ns(rows, cpu_ns)
    found: dict[tuple[int, int, int], Cost] = defaultdict(Cost)
    for at in np.flatnonzero(rows.start_ns >= begin_ns).tolist():
        cost = found[int(rows.name[at]), int(rows.overload[at]), int(rows.signature[at])]
        cost.calls += 1
        cost.cpu_ns += int(cpu_ns[at])
        cost.self_ns += int(self_ns[at])
        cost.faults += int(rows.faults[at])
    return _program(recording, found, threads, steps)


def _program(
    recording: Recording, found: dict[tuple[int, int, int], Cost], threads: int, steps: int
) -> Program:
    callable_costs, other_ns = {}, 0
    reuse = by_signature(recording[OperandReuse])
    for key, cost in sorted(found.items(), key=lambda item: -item[1].self_ns):
        wanted = _wanted(recording, key, threads)
        if wanted is None:
            other_ns += cost.self_ns
        else:
            callable_costs[replace(wanted, **reuse.get(key[2], Reuse())._asdict())] = cost
    return Program(callable_costs, other_ns, steps)


def _wanted(recording: Recording, key: tuple[int, int, int], threads: int) -> Wanted | None:
    strings, signatures = recording[Strings], recording[Signatures]
    name, overload, signature = key
    if signature < 0 or "::" not in strings[name] or strings[name].startswith(_NOT_CALLABLE):
        return None
    operator = ".".join(filter(None, (strings[name], strings[overload])))
    text, example = (strings[column[signature]] for column in (signatures.text, signatures.example))
    return Wanted(operator, text, example, values_of(recording, signature), threads)


def _after(recording: Recording, rows: LinkedOperators, skipped: int) -> tuple[int, int]:
    """When the skipped steps ended, and how many steps are left."""
    is_step = np.array([recording[Strings][name].startswith(_STEP) for name in rows.name.tolist()])
    ends_ns = np.sort(rows.end_ns[is_step])
    if len(ends_ns) <= skipped:
        raise SystemExit(
            f"the program made {len(ends_ns)} steps: nothing is left without the first {skipped}"
        )
    return int(ends_ns[skipped - 1]) if skipped else 0, len(ends_ns) - skipped


def _cpu_ns(rows: LinkedOperators) -> np.ndarray:
    if (rows.cpu_ns < 0).any():
        raise SystemExit("the program was not recorded with --detail bench")
    return rows.cpu_ns - np.maximum(rows.recording_ns, 0)


def _self_ns(rows: LinkedOperators, cpu_ns: np.ndarray) -> np.ndarray:
    """CPU time minus that of direct children. The rows of a thread are in the order in which they ended."""
    self_ns = cpu_ns.copy()
    called_ns: dict[tuple[int, int], int] = defaultdict(int)  # by thread and depth, since the last caller
    for at, (thread, depth) in enumerate(zip(rows.thread.tolist(), rows.depth.tolist(), strict=True)):
        self_ns[at] -= called_ns.pop((thread, depth + 1), 0)
        called_ns[thread, depth] += int(cpu_ns[at])
    return np.maximum(self_ns, 0)
