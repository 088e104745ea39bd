"""Puts together what helped alone, and leaves out what no longer helps."""

from __future__ import annotations

import os
from collections.abc import Sequence

from perfprobe.collect.tries.declared import Asked
from perfprobe.experiment.trial import Trials
from perfprobe.tables.tried import Outcome, Tried

_LEAST_GAIN = 1.01  # in the stack


def automatic() -> list[tuple[str, ...]]:
    """What is tried if nothing is named, each alone. More workers or threads than processors are not."""
    cores = len(os.sched_getaffinity(0))
    words = ["workers=1", *(["workers=2", "threads=1", "wait-policy=passive"] if cores > 1 else [])]
    words += ["persistent-workers", "prefetch=4", "fused", "foreach", "set-to-none", "no-grad", "gc=freeze"]
    words += ["thp", "flush-denormals", "float32", "channels-last", "compile", "bf16"]
    return [(word,) for word in words]


def together(found: Sequence[Tried]) -> list[str]:
    """The words that helped and keep the result, most gain first; of two that exclude each other, one."""
    helping = [each for each in found if each.outcome is Outcome.HELPS and each.is_checked]
    words: list[str] = []
    for each in sorted(helping, key=lambda one: -(one.gain or 0)):
        if all(_fits(word, words) for word in each.words):
            words += each.words
    return words


def _fits(word: str, words: Sequence[str]) -> bool:
    one = Asked(word)
    names = {Asked(other).name for other in words}
    return one.name not in names and names.isdisjoint(one.declared.excludes)


def stacked(trials: Trials, found: Sequence[Tried]) -> tuple[Tried | None, tuple[str, ...]]:
    """Measures all that helped together, and without each; returns what is left, and what was dropped."""
    words = together(found)
    if len(words) < 2:
        return next((each for each in found if list(each.words) == words), None), ()
    whole, *others = trials.measure([tuple(words), *(_without(words, word) for word in words)], among=1)
    dropped = tuple(word for word, other in zip(words, others, strict=True) if not _needs(whole, other))
    left = tuple(word for word in words if word not in dropped)
    if not dropped or whole.gain is None:
        return whole, ()
    if len(dropped) == 1:
        return others[words.index(dropped[0])], dropped
    if len(left) < 2:
        return next((each for each in found if each.words == left), None), dropped
    return trials.measure([left], among=1)[0], dropped


def _without(words: Sequence[str], left_out: str) -> tuple[str, ...]:
    return tuple(word for word in words if word != left_out)


def _needs(whole: Tried, other: Tried) -> bool:
    """Whether the stack is slower without a word."""
    if whole.gain is None or other.gain is None:
        return True
    return whole.gain / other.gain > _LEAST_GAIN
