"""Programs made by hand for the rules of changes: steps of given parts, with or without source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.tables.account import LeafKind, Leaves
from perfprobe.tables.advice import Advice, Change
from perfprobe.tables.findings import Findings
from perfprobe.tables.processors import Processors, ProcessorWindows, ThreadWaits
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.teams import (
    ActiveThreads,
    OperatorTeams,
    Teams,
    ThreadActivity,
    ThreadInventory,
    UtilisationTimes,
)
from tests.build import Program, op
from tests.report.test_screen import found
from tests.report.test_text import META

MS = 1_000_000
STEPS = 8
OF_HERE = {"host": {"name": os.uname().nodename}, "clock": {"monotonic_ns": 0, "realtime_ns": 4 * 10**18}}
NEXT = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
NEXT_OF_WORKERS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
ADAM = "/env/site-packages/torch/optim/adam.py:90/80 Adam.step"
BUSY_MS = 50  # of a step, in a product that no rule is about


class Part(NamedTuple):
    """A part of a step: this many calls one after another take the time, at a line of train.py."""

    name: str
    time_ms: float
    line: int = 20
    calls: int = 1
    inputs: str = ""
    scope: int = 0
    inside: str = ""
    library: str = ""
    file: str = "train.py"
    function: str = "main"


def program(
    *parts: Part, folder: str = "/p", source: Sequence[str] = (), update_ms: float = 4, **meta: Any
) -> Program:
    """Steps of these parts, a product of 50 ms, and an update. source: the text of train.py."""
    made, at = Program(**{**META, **OF_HERE, **meta}), 0
    made.thread(1)
    busy = Part("aten::mm", BUSY_MS, 21, inputs="f32[64,128] f32[128,64]")
    update = Part("Optimizer.step#SGD.step", update_ms, 24, scope=7)
    if source:
        Path(folder, "train.py").write_text("\n".join(source) + "\n", encoding="utf-8")
    node = {"stack": made.stack(f"{folder}/train.py:23 main"), "node_thread": 1}
    for number in range(STEPS):
        for part in (*parts, busy):
            at = _run(made, part, at, folder, number)
        made.run(op("MmBackward0", at, at + 1000, node_sequence=number, **node))
        at = _run(made, update, at + 1000, folder, number)
    made.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    return made


def _run(made: Program, part: Part, at: int, folder: str, number: int) -> int:
    """Adds the calls of a part, and returns when the last one ends."""
    frames = [f"{folder}/{part.file}:{part.line} {part.function}", *([part.library] if part.library else [])]
    fields: dict[str, int] = {"stack": made.stack(*frames), "scope": part.scope}
    fields |= {"signature": made.signature(part.inputs)} if part.inputs else {}
    fields |= {"sequence": number} if part.name == "aten::mm" else {}
    each_ns = round(part.time_ms * MS / part.calls)
    for _ in range(1 if part.inside else part.calls):
        end = at + (each_ns * part.calls if part.inside else each_ns)
        inner = [
            op(part.inside, at + each_ns * call, at + each_ns * (call + 1), stack=fields["stack"])
            for call in range(part.calls if part.inside else 0)
        ]
        made.run(op(part.name, at, end, *inner, **fields))
        at = end
    return at


def processors(
    allowed: float, used: float, others: float = 0, own_ns: int = 0, wall_ns: int = STEPS * 60 * MS
) -> Processors:
    """So many processors, of which so many are used."""
    sums: dict[str, Any] = {"waited_ns": own_ns, "own_ns": own_ns, "others_ns": 0, "unknown_ns": 0}
    sums |= {"main_waited_ns": 0, "other_run_ns": 0, "stolen_ns": 0, "pressure_ns": 0, "throttled_ns": 0}
    return Processors(
        windows=ProcessorWindows.empty(),
        threads=ThreadWaits.empty(),
        wall_ns=wall_ns,
        affinity_cores=int(allowed),
        quota_cores=None,
        allowed_cores=allowed,
        used_cores=used,
        children_cores=0.0,
        others_cores=others,
        evidence=(),
        lacks=(),
        **sums,
    )


def teams(threads: int, allowed: float, spun_ns: int = 0) -> Teams:
    """torch's team, and how long members of it spun in the first half of the run."""
    columns = {name: np.array([0], dtype) for name, dtype in ThreadActivity.dtypes.items()}
    columns |= {"end_ns": np.array([100 * MS]), "helpers": np.array([1], np.int32)}
    return Teams(
        inventory=ThreadInventory.empty(),
        active=ActiveThreads.empty(),
        times=UtilisationTimes.empty(),
        operators=OperatorTeams.empty(),
        busiest_lines=(),
        threads=threads,
        allowed_cores=allowed,
        activity=ThreadActivity(**columns) if spun_ns else ThreadActivity.empty(),
        helpers_spun_ns=np.array([spun_ns] if spun_ns else [], np.int64),
        is_late=np.array([True] if spun_ns else [], np.bool_),
        team_threads=threads,
    )


def judged(made: Program, folder: Path, *others: object) -> Findings:
    """The findings with what the rules say. others: findings that are given."""
    findings = found(made, folder)
    return diagnosed(findings.plus(*others)) if others else findings


def advised(made: Program, folder: Path, *others: object) -> dict[str, Change]:
    """The changes by rule."""
    return changes(judged(made, folder, *others))


def changes(findings: Findings) -> dict[str, Change]:
    """The same of findings."""
    return {each.rule: each for each in findings[Advice].changes}


def untold(findings: Findings) -> dict[str, str]:
    """What rules that cannot tell need, by rule."""
    return {each.rule: each.needs for each in findings[Advice].untold}


def with_leaf(findings: Findings, kind: LeafKind, phase: StepPhase, share: float, steps: int) -> Findings:
    """The findings with one more part of the account, at the first line: this share of all."""
    rows = findings[StepHotspots]
    leaves = rows.account.leaves
    more = leaves.take(np.array([0]))
    time_ns = round(share / (1 - share) * rows.account.own_ns)
    given = {"kind": [kind], "phase": [phase], "time_ns": [time_ns], "steps": [steps], "operators_ns": [0]}
    own = {name: np.array(value, more.dtypes[name]) for name, value in given.items()}
    leaves = Leaves.concat([leaves, Leaves(**more.columns() | own)])
    account = replace(rows.account, leaves=leaves, time_ns=rows.account.time_ns + time_ns)
    return diagnosed(findings.plus(account, replace(rows, account=account)))
