"""Rows that differ in their module only become one: the layers of a model share their source lines."""

from __future__ import annotations

from collections.abc import Sequence


def pattern(paths: Sequence[str]) -> str:
    """What module paths have in common: `layers.*.attention`, or `*` where their lengths differ.

    Args:
        paths: different paths, at least one.
    """
    parts = [path.split(".") for path in paths]
    if len({len(part) for part in parts}) > 1:
        return "*"
    return ".".join(words[0] if len(set(words)) == 1 else "*" for words in zip(*parts, strict=True))
