"""What the rules of changes need to know."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from perfprobe.diagnose.device import judging_device
from perfprobe.models.rules import RULES
from perfprobe.models.user_code import UserCode
from perfprobe.tables.account import Account
from perfprobe.tables.advice import Change, Check
from perfprobe.tables.columns import Mask, among, distinct
from perfprobe.tables.device_account import DeviceAccount
from perfprobe.tables.diagnoses import Base, Cause, Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings, HotspotRows
from perfprobe.tables.processors import Processors
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepPhase, StepTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Phase

IDLE = "a processor that other processes leave idle"
IN_USE = 0.9  # if this share of the processors is used, none is left for one more process


class Known:
    """The findings of a program with steps, and its own code as far as it may be read."""

    def __init__(self, findings: Findings, judged: Diagnoses, account: Account, rows: StepHotspots) -> None:
        self.findings = findings
        self.judged = judged
        self.account = account
        self.code = UserCode(findings)
        self.gpu = judging_device(findings) if judged.by_gpu else None
        self.times = findings[StepTimes]
        self._rows = rows.hotspots
        self._strings = findings.trace.recording[Strings]

    @property
    def rows(self) -> HotspotRows:
        """The operators in the steps."""
        return self._rows.rows

    @property
    def has_gpu(self) -> bool:
        """Whether a GPU takes part."""
        return self.findings.trace.gpu is not None or self.findings.get(DeviceAccount) is not None

    @property
    def has_workers(self) -> bool:
        """Whether other processes make the batches of a DataLoader that the loop is over."""
        ranges = self.ranges("enumerate(DataLoader)#_Multi")
        return len(ranges) > 0

    def first(self, cause: Cause) -> Diagnosis | None:
        """The largest judgement of this kind about the steps, of the time that they are judged by."""
        found = (each for each in self.judged.of(cause) if each.base in (self.judged.base, Base.STEPS))
        return next(found, None)

    def share(self, cause: Cause) -> float:
        """The share of a judgement of this kind, 0 without."""
        found = self.first(cause)
        return 0.0 if found is None else found.share

    def operators_share(self, rows: HotspotRows | None = None) -> float:
        """The share of a step in these operators, or in all; of a GPU's time where that judges."""
        chosen = self.rows if rows is None else rows
        if self.gpu is not None:
            return self.gpu.share(int(np.maximum(chosen.gpu_self_ns, 0).sum()))
        return self.account.share(int(chosen.typical_ns.sum()))

    def phase_share(self, phase: StepPhase, of_operators: Phase) -> float:
        """The share of a step in a phase; of a GPU's time what was launched in it, and idle time then."""
        if self.gpu is not None:
            leaves = self.gpu.leaves
            return self.gpu.share(int(leaves.time_ns[leaves.phase == of_operators].sum()))
        return self.account.share(self.account.phases().get(phase, 0))

    def from_host(self, share: float) -> float:
        """What steps can gain of a share of the host: where a GPU judges, what that waits for."""
        if self.gpu is None:
            return share
        return min(share, self.share(Cause.LAUNCHES) + self.share(Cause.BETWEEN_KERNELS))

    def line_share(self, line: Line | None) -> float:
        """The share of a step that is work of a line, 0 if it has none."""
        if self.gpu is not None:
            leaves = self.gpu.leaves
            frames = [each for each in distinct(leaves.frame).tolist() if line and self.line(each) == line]
            return self.gpu.share(int(leaves.time_ns[among(leaves.frame, frames)].sum()))
        groups = self.account.lines()
        own = (each.time_ns for each in groups if line is not None and self.line(each.frame) == line)
        return self.account.share(sum(own))

    def named(self, rows: HotspotRows, *names: str) -> Mask:
        """Which rows have one of these names."""
        return self.marks(rows, lambda name: name in names)

    def marks(self, rows: HotspotRows, chosen: Callable[[str], bool]) -> Mask:
        """Which rows have a name that is chosen."""
        return self._strings.marks(chosen)[rows.name]

    def name(self, row: int) -> str:
        """A text of `Strings`."""
        return self._strings[row]

    def ranges(self, beginning: str) -> HotspotRows:
        """torch's own ranges in the steps whose names begin so, most time first."""
        ranges = self._rows.ranges
        found = ranges.take(self._strings.marks(lambda name: name.startswith(beginning))[ranges.name])
        return found.take(np.argsort(-found.total_ns, kind="stable"))

    def line(self, frame: int) -> Line | None:
        """The place of a frame."""
        return self.findings.trace.line(frame)

    @cached_property
    def free_cores(self) -> float | None:
        """Processors that the process may use and nobody did, None if not known."""
        found = self.findings.get(Processors)
        return None if found is None else _left(found, found.others_cores or 0)

    @cached_property
    def free_if_alone(self) -> float | None:
        """The same if no other process used any."""
        found = self.findings.get(Processors)
        return None if found is None else _left(found, 0)


def _left(found: Processors, others: float) -> float | None:
    """Processors that are left, 0 if nearly all are in use."""
    if not found.allowed_cores:
        return None
    used = found.used_cores + (found.children_cores or 0) + others
    return found.allowed_cores - used if used < IN_USE * found.allowed_cores else 0.0


def change(rule: str, share: float, check: Check, what: str, snippet: str, **others: Any) -> Change:
    """A change of which not more than what is known to be saved counts. share: of what it is about."""
    saved = min(share, 1.0) * RULES[rule].part
    given = {"frame": -1, "tries": (), **others}
    return Change(rule=rule, share=saved, check=check, what=what, snippet=snippet, **given)
