"""Rule: `torch.cat` is called again and again onto its own result, which it copies each time."""

from __future__ import annotations

from collections import Counter, defaultdict

from perfprobe.diagnose.limits import STANDS_OUT
from perfprobe.models.signature import parse, tensors
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Growing
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.strings import Strings

_CAT = "aten::cat"
_FEWEST = 6  # calls in a chain, each of which takes the result of the one before
_MOST_OF = 0.8  # of a line's signatures; others are those of tensors in between
_Sizes = tuple[int, ...]
_Pair = tuple[_Sizes, _Sizes]


def growing(findings: Findings) -> Growing | None:
    """The line whose calls take each other's results, if their time stands out."""
    found = findings.get(StepHotspots)
    if found is None:
        return None
    trace, rows = findings.trace, found.hotspots.rows
    rows = rows.take(trace.recording[Strings].marks(lambda name: name == _CAT)[rows.name] & (rows.frame >= 0))
    times_ns, calls, pairs = Counter[int](), Counter[int](), defaultdict[int, list[_Pair]](list)
    columns = (rows.frame, rows.signature, rows.self_ns, rows.calls)
    for frame, signature, self_ns, count in zip(*(each.tolist() for each in columns), strict=True):
        times_ns[frame] += self_ns
        calls[frame] += count
        pairs[frame] += _pair(trace.signature(signature))
    frame = max(times_ns, key=times_ns.__getitem__, default=-1)
    share = found.share(times_ns[frame]) if frame >= 0 else 0
    if share < STANDS_OUT or not _is_chain(pairs[frame]):
        return None
    return Growing(frame, calls[frame], share)


def _pair(signature: str | None) -> list[_Pair]:
    """The sizes of both tensors of a call with two."""
    sizes = [each.sizes for each in tensors(parse(signature or "") or ())]
    return [(sizes[0], sizes[1])] if len(sizes) == 2 and sizes[0] and sizes[1] else []


def _is_chain(pairs: list[_Pair]) -> bool:
    """Whether most of these calls have the result of another one as their first tensor."""
    firsts = {first for first, _ in pairs}
    followed = sum(_result(*pair) in firsts for pair in pairs)
    return followed >= max(_FEWEST, _MOST_OF * (len(pairs) - 1))


def _result(first: _Sizes, second: _Sizes) -> _Sizes | None:
    """The sizes of the result, joined along the dimension that differs; None if several do."""
    if len(first) != len(second):
        return None
    differing = [at for at, (own, other) in enumerate(zip(first, second, strict=True)) if own != other]
    if len(differing) > 1:
        return None
    at = differing[0] if differing else 0
    return (*first[:at], first[at] + second[at], *first[at + 1 :])
