"""Regular expressions that are compiled when they are first used: a report needs few of those it imports."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Pattern:
    """Behaves as the compiled expression."""

    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)  # is found without this function the next time
        return value


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Returns what stands for `re.compile(text, flags)`."""
    made: Any = _Pattern(text, flags)
    return made  # type: ignore[no-any-return]
