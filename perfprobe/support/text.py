"""Text that came from elsewhere, made safe to print."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line, with control and direction-changing characters written as escapes.

    File names, operator names and messages come out of programs and files we do not trust: a terminal must
    show them, never obey them.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def encodable(text: str, encoding: str | None) -> str:
    """The text with `?` for what this encoding has no character for: a report is never lost to a locale."""
    known = encoding or "utf-8"
    return text.encode(known, errors="replace").decode(known)


def _escape(letter: str) -> str:
    if letter == "\n":
        return " "
    return letter.encode("unicode_escape").decode("ascii")
