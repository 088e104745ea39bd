"""Says what a run left out because time was short."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perfprobe.bench.answers import NO_TIME, Answer
from perfprobe.support import units
from perfprobe.tables.measurements import Wanted


def omitted(answers: Mapping[Wanted, Sequence[Answer]], processes: int, time_s: float) -> Iterator[str]:
    """Yields one sentence; nothing if nothing was left out.

    Args:
        answers: answers of each call, one for each process.
        processes: the number of answers that each call should have.
        time_s: the limit on wall time.
    """
    rebuilt = [of for of in answers.values() if all(answer.not_rebuilt is None for answer in of)]
    unmeasured = [call for call, of in answers.items() if not of]
    fewer = sum(0 < len(of) < processes for of in rebuilt)
    bare = sum(any(_is_bare(answer) for answer in of[:1]) for of in rebuilt)
    counts = (
        (fewer, f"in fewer than {processes} processes"),
        (bare, "without trying any changes"),
        (len(unmeasured), "not at all"),
    )
    parts = [f"{count} {words}" for count, words in counts if count]
    if unmeasured:
        names = dict.fromkeys(call.operator for call in unmeasured)
        parts[-1] += f" ({', '.join(names)})"
    if parts:
        given = units.duration(time_s * 1e9)
        calls = f"of {len(answers)} calls " if len(answers) > 1 else ""
        yield (
            f"{given} was not enough: {calls}{', '.join(parts)}. The hottest came first; --time sets the "
            f"limit, --time 0 removes it."
        )


def _is_bare(answer: Answer) -> bool:
    return any(not untried.kind and untried.reason == NO_TIME for untried in answer.untried)
