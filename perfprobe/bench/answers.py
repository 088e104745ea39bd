"""What a measuring process answers for one case: facts, as one line of JSON. The parent interprets them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from perfprobe.bench.clocks import Block
from perfprobe.models.work import Work
from perfprobe.tables.measurements import Untried, Wanted

RECYCLED = "recycled"  # the subject that is timed last, in a process that keeps all freed memory
NO_TIME = "no time left"
LONGEST = 16 << 20  # bytes of a line


@dataclass(frozen=True)
class Case:
    """A request to a measuring process.

    Attributes:
        recycled: measure only the call itself, in reused memory. The process then keeps all freed memory.
        with_changes: whether changed calls are timed too.
        limit_s: wall time it may take; None for no limit.
    """

    number: int
    wanted: Wanted
    recycled: bool = False
    with_changes: bool = True
    limit_s: float | None = None


@dataclass(frozen=True)
class Limit:
    """What the parent needs of a `references.Reference`. subject: the key of its times in `Answer.blocks`."""

    kind: str
    text: str
    scale: float
    floor_ns: float
    subject: str
    part: str = ""


@dataclass(frozen=True)
class Changed:
    """A counterfactual that was timed. subject: the key of its times in `Answer.blocks`."""

    kind: str
    change: str
    subject: str


@dataclass(frozen=True)
class Answer:
    """What one process measured for one case.

    Attributes:
        case: the number of the `Case`.
        not_rebuilt: why nothing was measured; None if it was.
        operator: the name with its overload.
        blocks: times by subject. "rotating", "warm" and "floor" are the call itself. Blocks with the same
            index belong to one round.
        rotated_bytes: size of all copies of the operands.
        fault_ns: CPU time of one page fault.
        path_ns: what Python adds to a call; 0.0 if that is negligible.
        untried: changes that were not tried, with the reason.
        cause: one of `CAUSES`: why it was not rebuilt, or why the process ended.
        partial: whether measuring still went on when this was sent.
    """

    case: int
    not_rebuilt: str | None = None
    operator: str = ""
    device: str = "cpu"
    blocks: Mapping[str, Sequence[Block]] = field(default_factory=dict)
    limits: Sequence[Limit] = ()
    changes: Sequence[Changed] = ()
    work: Work | None = None
    nested: Sequence[tuple[str, float]] = ()
    rotated_bytes: int = 0
    fault_ns: float | None = None
    path_ns: float = 0.0
    notes: Sequence[str] = ()
    untried: Sequence[Untried] = ()
    cause: str = ""
    partial: bool = False


def encode(answer: Answer) -> str:
    """Returns the answer as one line of JSON, without a newline."""
    fields = asdict(answer)
    fields["blocks"] = {
        name: [list(vars(block).values()) for block in of] for name, of in answer.blocks.items()
    }
    return json.dumps(fields)


def decode(line: str) -> Answer | None:
    """Returns the answer in a line; None if the line is something else, as libraries print too."""
    try:
        found: dict[str, Any] = json.loads(line)
        work = found.pop("work")
        return Answer(
            **{
                **found,
                "blocks": {name: [Block(*numbers) for numbers in of] for name, of in found["blocks"].items()},
                "limits": [Limit(**limit) for limit in found["limits"]],
                "changes": [Changed(**change) for change in found["changes"]],
                "work": work and Work(**{**work, "elements": tuple(map(tuple, work["elements"]))}),
                "untried": [Untried(**untried) for untried in found["untried"]],
                "nested": [(str(name), float(part)) for name, part in found["nested"]],
            }
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
