"""The share of each module in a row, and a pattern for their paths, because layers share source lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    parts = ModuleParts(module=rows.module[order[first]], calls=calls, self_ns=self_ns).compact()
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
    if len({path.count(".") for path in paths}) == 1:
        return ".".join(word or "*" for word in _common_words(paths))
    before = _common_start(path.split(".") for path in paths)
    after = _common_start(path.split(".")[len(before) :][::-1] for path in paths)
    return ".".join([*before, "*", *reversed(after)])


# The paths are split one after the other: the words of many deep modules take much memory.


def _common_words(paths: Sequence[str]) -> list[str]:
    """Returns the words of paths of one length, "*" where they differ."""
    found = paths[0].split(".")
    for path in paths:
        found = [own if own == word else "*" for own, word in zip(found, path.split("."), strict=True)]
    return found


def _common_start(parts: Iterable[list[str]]) -> list[str]:
    """Returns the words with which all parts begin."""
    found: list[str] | None = None
    for words in parts:
        found = words if found is None else _equal_start(found, words)
    return found or []


def _equal_start(first: list[str], second: list[str]) -> list[str]:
    both = enumerate(zip(first, second, strict=False))
    end = next((at for at, (one, other) in both if one != other), min(len(first), len(second)))
    return first[:end]
