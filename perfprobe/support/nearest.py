"""The word that was probably meant by one that does not exist."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Returns the most similar of these words, in any case; None if none is similar."""
    import difflib  # not before the program, which may bring its own: only mistakes need it

    names = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), names, 1)
    return names[found[0]] if found else None


def suggestion(word: str, known: Iterable[str], otherwise: str) -> str:
    """Returns the end of an error about this word: the word that was probably meant, or `otherwise`."""
    meant = nearest(word, known)
    return otherwise if meant is None else f"did you mean `{meant}`?"
