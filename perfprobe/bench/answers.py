"""The answer of a measuring process for one case: facts as one line of JSON; the parent interprets them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from perfprobe.bench.clocks import Block
from perfprobe.models.work import Work
from perfprobe.tables.measurements import Untried, Wanted

RECYCLED = "recycled"  # the subject that is timed last, in a process that gives no memory back
NO_TIME = "no time left"
LONGEST = 16 << 20  # bytes of a line


@dataclass(frozen=True)
class Case:
    """A request to a measuring process.

    recycled: only the call itself, in reused memory; from then on all memory is reused.
    with_changes: whether changed calls are timed too. limit_s: wall time it may take, None for any.
    """

    number: int
    wanted: Wanted
    recycled: bool = False
    with_changes: bool = True
    limit_s: float | None = None


@dataclass(frozen=True)
class Limit:
    """A reference as the parent needs it: see `references.Reference`. subject: the name of its blocks."""

    kind: str
    text: str
    scale: float
    floor_ns: float
    subject: str
    part: str = ""


@dataclass(frozen=True)
class Changed:
    """A counterfactual. subject: the name of its blocks."""

    kind: str
    change: str
    subject: str


@dataclass(frozen=True)
class Answer:
    """What one process measured for one case.

    case: its number, as in `Case`; not_rebuilt: why there is nothing else. cause: of that, or of the end
    that it found, one of `CAUSES`. operator: with its overload. blocks: by subject, those of one place
    belong to one round; "rotating", "warm" and "floor" are the call itself. rotated_bytes: of all copies of
    its operands. fault_ns: price of a page fault; path_ns: what Python adds to a call, 0.0 where that is
    little. untried: changes that were not tried, and why. partial: it was still being measured when this was
    said.
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
    """One line, without its end."""
    fields = asdict(answer)
    fields["blocks"] = {
        name: [list(vars(block).values()) for block in of] for name, of in answer.blocks.items()
    }
    return json.dumps(fields)


def decode(line: str) -> Answer | None:
    """The answer of a line; None where the line is of another type: libraries print too."""
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
