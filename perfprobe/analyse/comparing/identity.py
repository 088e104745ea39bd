"""Finds the parts of one version's steps in the other, although lines moved.

A line is known by its file, function and text. Several lines of a function with the same text are numbered.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from perfprobe.models.compared import Match, Part

_SIZES = re.compile(r"\[[\d,]*\](?:\{[\d,]*\})?")
_Key = Callable[["_Known"], Hashable]


class Pairing(NamedTuple):
    """Parts that are one: rows of both versions; one of them is empty for new and gone ones."""

    match: Match
    before: Sequence[Part]
    after: Sequence[Part]


class _Known(NamedTuple):
    """A part, its file as the earlier version names it, and the line's number among those with equal text."""

    part: Part
    path: str
    ordinal: int


def paired_parts(before: Iterable[Part], after: Iterable[Part]) -> list[Pairing]:
    """All parts of both versions, each in one pairing. The keys that say most come first."""
    earlier, later = set(before), set(after)
    files = same_files({part.path for part in earlier}, {part.path for part in later})
    left, right = _known(earlier, {}), _known(later, files)
    found: list[Pairing] = []
    for key in _EXACT:
        found += _by_key(Match.SAME, key, left, right)
    unknown = _without_hashes(left, right)
    for key in _with(partial(_offset, unknown), *_FORMS):
        found += _by_key(Match.SAME, key, left, right)
    found += _in_order(Match.EDITED, _in_function, left, right)
    found += _in_order(Match.MOVED, _in_module, left, right)
    found += [Pairing(Match.GONE, [each.part], []) for each in left]
    return found + [Pairing(Match.NEW, [], [each.part]) for each in right]


def without_sizes(signature: str) -> str:
    """The signature with dtypes and without sizes and strides."""
    return _SIZES.sub("[]", signature)


def same_files(before: set[str], after: set[str]) -> dict[str, str]:
    """For files of the later version those of the earlier one: the same path, then the longest common end."""
    found = {path: path for path in after & before}
    left = {path: path.split("/")[::-1] for path in before - after}
    for path in sorted(after - before):
        names = path.split("/")[::-1]
        common = {other: _common(names, parts) for other, parts in left.items()}
        longest = max(common.values(), default=0)
        best = [other for other, number in common.items() if number == longest]
        if longest and len(best) == 1:
            found[path] = best[0]
            del left[best[0]]
    alone = sorted(after - found.keys())
    if len(left) == len(alone) == 1:  # the script itself, under another name
        found[alone[0]] = next(iter(left))
    return found


def _common(names: Sequence[str], others: Sequence[str]) -> int:
    number = 0
    while number < min(len(names), len(others)) and names[number] == others[number]:
        number += 1
    return number


def _known(parts: set[Part], files: dict[str, str]) -> list[_Known]:
    found, lines = [], _numbered(parts)
    for part in sorted(parts):
        found.append(_Known(part, files.get(part.path, part.path), lines[_text(part)].index(part.line)))
    return found


def _numbered(parts: Iterable[Part]) -> dict[Hashable, list[int]]:
    """By text of a line the lines that have it, in order."""
    found: dict[Hashable, set[int]] = defaultdict(set)
    for part in parts:
        found[_text(part)].add(part.line)
    return {text: sorted(lines) for text, lines in found.items()}


def _text(part: Part) -> Hashable:
    """The line's text, of lines that call the operator: which others are seen is chance."""
    return part.path, part.function, part.text_hash, part.operator, part.phase


def _without_hashes(*sides: Sequence[_Known]) -> set[str]:
    """The files of which a version does not know the lines' texts."""
    return {each.path for side in sides for each in side if each.part.path and each.part.text_hash < 0}


def _place(each: _Known) -> tuple[Hashable, ...] | None:
    part = each.part
    if not part.path:
        return (part.kind, part.phase, part.operator, part.module)
    if part.text_hash < 0:
        return None
    return (part.kind, part.phase, each.path, part.function, part.text_hash, each.ordinal, part.operator)


def _offset(unknown: set[str], each: _Known) -> tuple[Hashable, ...] | None:
    part = each.part
    if each.path not in unknown:
        return None
    return (part.kind, part.phase, each.path, part.function, part.offset, part.operator)


def _with(
    place: Callable[[_Known], tuple[Hashable, ...] | None], *signatures: Callable[[str], str]
) -> list[_Key]:
    """Keys of a place with each of these forms of the signature."""

    def made(form: Callable[[str], str]) -> _Key:
        def key(each: _Known) -> Hashable:
            found = place(each)
            return None if found is None else (*found, form(each.part.signature))

        return key

    return [made(form) for form in signatures]


_FORMS = (str, without_sizes, lambda _: "")
_EXACT = _with(_place, *_FORMS)


def _in_function(each: _Known) -> Hashable:
    part = each.part
    if not part.path:
        return None
    return (part.kind, part.phase, each.path, part.function, part.operator, part.module)


def _in_module(each: _Known) -> Hashable:
    part = each.part
    return (part.kind, part.phase, part.module, part.operator) if part.module else None


def _grouped(key: _Key, side: Sequence[_Known]) -> dict[Hashable, list[_Known]]:
    found: dict[Hashable, list[_Known]] = defaultdict(list)
    for each in side:
        found[key(each)].append(each)
    found.pop(None, None)
    return found


def _by_key(match: Match, key: _Key, left: list[_Known], right: list[_Known]) -> list[Pairing]:
    """Parts of both versions with equal keys, which are taken out of the lists."""
    before, after = _grouped(key, left), _grouped(key, right)
    found = [(before[each], after[each]) for each in before if each in after]
    return _taken(match, found, left, right)


def _in_order(match: Match, key: _Key, left: list[_Known], right: list[_Known]) -> list[Pairing]:
    """The same, but of several lines with equal keys the first with the first, and so on."""
    before, after = _grouped(key, left), _grouped(key, right)
    found = []
    for each in before:
        lines, others = _by_line(before[each]), _by_line(after.get(each, []))
        found += list(zip(lines, others, strict=False))
    return _taken(match, found, left, right)


def _by_line(parts: Sequence[_Known]) -> list[list[_Known]]:
    found: dict[tuple[str, int], list[_Known]] = defaultdict(list)
    for each in parts:
        found[each.path, each.part.line].append(each)
    return [found[line] for line in sorted(found)]


def _taken(
    match: Match,
    found: Sequence[tuple[list[_Known], list[_Known]]],
    left: list[_Known],
    right: list[_Known],
) -> list[Pairing]:
    for side, each in ((left, 0), (right, 1)):
        gone = {known for pair in found for known in pair[each]}
        side[:] = [known for known in side if known not in gone]
    return [Pairing(match, [a.part for a in pair[0]], [b.part for b in pair[1]]) for pair in found]
