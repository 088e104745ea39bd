"""Rows that differ in their module only become one: the layers of a model share their source lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfprobe.analyse.grouping import KEYS, grouped, key_rows, sums
from perfprobe.tables.columns import Int32
from perfprobe.tables.findings import HotspotRows, ModuleParts, Sums


def with_shared_modules(rows: Sums, texts: Sequence[str]) -> tuple[HotspotRows, ModuleParts, list[str]]:
    """One row for those that differ in their module only, what each module has of it, and the module texts.

    The texts are those given, with what the modules of such rows have in common added.
    """
    if len(rows) == 0:
        return HotspotRows.empty(), ModuleParts.empty(), list(texts)
    order, first = grouped([getattr(rows, name) for name in KEYS if name != "module"])
    size = np.diff(np.append(first, len(order)))
    order = order[np.lexsort((-rows.self_ns[order], np.repeat(first, size)))]
    parts = ModuleParts(module=rows.module[order], calls=rows.calls[order], self_ns=rows.self_ns[order])
    keys = key_rows(rows, order[first])
    all_texts = list(texts)
    shared: dict[str, int] = {}
    for group in np.flatnonzero(size > 1).tolist():
        text = _common_text(parts.module[first[group] : first[group] + size[group]], texts)
        keys["module"][group] = shared.setdefault(text, len(all_texts))
        all_texts += [text] if shared[text] == len(all_texts) else []
    merged = HotspotRows(
        **keys, **sums(rows, order, first), first_part=first.astype(np.int64), parts=size.astype(np.int32)
    )
    return merged, parts, all_texts


def _common_text(modules: Int32, texts: Sequence[str]) -> str:
    return pattern([texts[module] if module >= 0 else "-" for module in modules.tolist()])


def pattern(paths: Sequence[str]) -> str:
    """What module paths have in common: `layers.*.attention`; of unequal length `encoder.*`, or only `*`.

    Args:
        paths: different paths, at least one.
    """
    parts = [path.split(".") for path in paths]
    shortest = min(len(part) for part in parts)
    if all(len(part) == shortest for part in parts):
        return ".".join(_common_word(words) or "*" for words in zip(*parts, strict=True))
    before = _common_start(parts)
    after = _common_start([part[: len(before) - 1 : -1] if before else part[::-1] for part in parts])
    return ".".join([*before, "*", *reversed(after)])


def _common_start(parts: Sequence[Sequence[str]]) -> list[str]:
    found: list[str] = []
    for words in zip(*parts, strict=False):
        word = _common_word(words)
        if word is None:
            break
        found.append(word)
    return found


def _common_word(words: Sequence[str]) -> str | None:
    return words[0] if len(set(words)) == 1 else None
