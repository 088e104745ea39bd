"""What a recording proposes to change."""

from __future__ import annotations

import os
from collections.abc import Sequence

from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.tried import Proposed

_MOST = 8  # tries that are made of proposals


def proposed(path: str) -> tuple[Proposed, ...]:
    """The changes that rules propose, most share first."""
    rows = Results(path).document(View())["tables"].get("advice") or ()
    return tuple(
        Proposed(
            what=row["what"] or row["rule"],
            place=_place(row.get("file"), row.get("line")),
            gain=row["gain"],
            tries=tuple(row["tries"]),
        )
        for row in rows
    )


def _place(file: str | None, line: int | None) -> str:
    return "" if file is None else f"{os.path.basename(file)}:{line}"


def tries_of(found: Sequence[Proposed]) -> Sequence[tuple[str, ...]]:
    """What can be tried of them, each word alone."""
    return [(word,) for word in dict.fromkeys(word for each in found for word in each.tries)][:_MOST]
