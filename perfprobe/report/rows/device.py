"""Rows of the account of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from perfprobe.report.rows.row import named, place, unwritten, values, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.device_account import DeviceAccount, DeviceKind, DeviceLeaves
from perfprobe.tables.diagnoses import Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import direction
from perfprobe.tables.idle import IdleCause
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Phase

_OPERATORS = IdleCause.OPERATORS.name.lower()


@frozen(kw_only=True)
class DeviceRow:
    """A part of a GPU's time in the steps that count, or from its first to its last work.

    kind: what it did. cause: of idle time, what the host did; else None. copy: of copies the direction.
    kernel: of work. call: of idle time the function of CUDA's API. operator: that launched it, or that ran on
    the host. time_ns: of all steps. share: of the GPU's time. steps: in how many of them it was. inputs: how
    many different ones there are.
    """

    kind: str
    cause: str | None
    copy: str | None
    kernel: str | None
    call: str | None
    operator: str | None
    signature: str | None
    line: Line | None = place()
    phase: str | None
    module: str | None
    time_ns: int
    share: float
    steps: int
    inputs: int = unwritten()

    @property
    def forward(self) -> None:
        """In backward `line` is that of the forward call."""

    @property
    def reason(self) -> str | None:
        """Why there is no line."""
        return "no line known" if self.line is None else None


class DevicePart(NamedTuple):
    """Work of one operator, or kernels or copies without one; or idle time of one cause, or of an operator.

    inputs: how many different ones there are.
    """

    operator: str | None
    kernel: str | None
    copy: str | None
    cause: str | None
    time_ns: int = 0
    inputs: int = 1

    @classmethod
    def of(cls, row: DeviceRow) -> DevicePart:
        """What a row is a part of, without its time.

        While operators ran on the host these say more than the cause. Copies are named by their direction.
        """
        if row.cause == _OPERATORS or (row.kernel is not None and row.operator is not None):
            return cls(row.operator, None, None, None)
        return cls(None, row.kernel, row.copy, row.cause)


def device_rows(findings: Findings) -> list[DeviceRow]:
    """All parts, most time first; none where the program is not judged by a GPU."""
    account, judged = findings.get(DeviceAccount), findings.get(Diagnoses)
    if account is None or judged is None or not judged.by_gpu:
        return []
    return list(_rows(findings, account, account.leaves))


def work_rows(findings: Findings, most: int) -> list[DeviceRow]:
    """Work of an operator at one line, or of a kernel without one, with all inputs; most time first."""
    account, sums = findings[DeviceAccount], dict[tuple[object, ...], list[DeviceRow]]()
    rows = account.leaves.take(account.leaves.kind != DeviceKind.IDLE)
    for row in _rows(findings, account, rows):
        sums.setdefault((DevicePart.of(row), row.line, row.phase), []).append(row)
    added = [_together(rows) for rows in sums.values()]
    return sorted(added, key=lambda row: -row.time_ns)[: most or None]


def _together(rows: Sequence[DeviceRow]) -> DeviceRow:
    inputs = {row.signature for row in rows}
    return replace(
        rows[0],
        signature=inputs.pop() if len(inputs) == 1 else None,
        inputs=max(len(inputs), 1),
        **{name: sum(getattr(row, name) for row in rows) for name in ("time_ns", "share")},
    )


def parts_of(findings: Findings, each: Diagnosis) -> list[DevicePart]:
    """What a judgement about a GPU consists of, most time first."""
    rows = [] if each.group is None else _rows(findings, findings[DeviceAccount], each.group.leaves)
    found: dict[DevicePart, list[DeviceRow]] = {}
    for row in rows:
        found.setdefault(DevicePart.of(row), []).append(row)
    parts = [
        part._replace(time_ns=sum(row.time_ns for row in own), inputs=len({row.signature for row in own}))
        for part, own in found.items()
    ]
    return sorted(parts, key=lambda part: -part.time_ns)


def _rows(findings: Findings, account: DeviceAccount, leaves: DeviceLeaves) -> Iterator[DeviceRow]:
    trace, strings = findings.trace, findings.trace.recording[Strings]
    for value in values(leaves):
        is_idle, name = value["kind"] == DeviceKind.IDLE, named(strings[value["name"]])
        yield DeviceRow(
            kind=DeviceKind(value["kind"]).name.lower(),
            cause=word(IdleCause, value["cause"]),
            copy=None if value["copy"] < 0 else direction(value["copy"]),
            kernel=None if is_idle else name,
            call=name if is_idle else None,
            operator=named(strings[value["operator"]]),
            signature=trace.signature(value["signature"]),
            line=trace.line(value["frame"]),
            phase=word(Phase, value["phase"]),
            module=trace.module(value["module"]),
            time_ns=value["time_ns"],
            share=account.share(value["time_ns"]),
            steps=value["steps"],
            inputs=1,
        )
