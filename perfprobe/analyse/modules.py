"""The share of each module in a row, and a pattern for their paths, because layers share source lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfprobe.analyse.grouping import first_of_each, sort_by_keys
from perfprobe.tables.columns import Int32, Rows
from perfprobe.tables.findings import ModuleParts, Sums


def module_parts(rows: Sums, row_of: Rows) -> tuple[ModuleParts, Rows]:
    """Returns what each module adds to the merged rows, and the place where each row's modules begin.

    row_of: the merged row of each row.
    """
    order, first = sort_by_keys([row_of, rows.module])
    calls, self_ns = (np.add.reduceat(column[order], first) for column in (rows.calls, rows.self_ns))
    parts = ModuleParts(module=rows.module[order[first]], calls=calls, self_ns=self_ns)
    group = row_of[order[first]]
    return parts.take(np.lexsort((-self_ns, group))), first_of_each(group)


def common_texts(parts: ModuleParts, first: Rows, texts: Sequence[str]) -> tuple[Int32, list[str]]:
    """For each row the index of its module's path, or of a pattern for several; and all texts."""
    size = np.diff(np.append(first, len(parts)))
    modules = parts.module[first]
    all_texts = list(texts)
    shared: dict[str, int] = {}
    for row in np.flatnonzero(size > 1).tolist():
        text = _common_text(parts.module[first[row] : first[row] + size[row]], texts)
        modules[row] = shared.setdefault(text, len(all_texts))
        all_texts += [text] if shared[text] == len(all_texts) else []
    return modules, all_texts


def _common_text(modules: Int32, texts: Sequence[str]) -> str:
    return pattern([texts[module] if module >= 0 else "-" for module in modules.tolist()])


def pattern(paths: Sequence[str]) -> str:
    """A pattern for module paths: `layers.*.attention`; for paths of different lengths `encoder.*`, or `*`.

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
