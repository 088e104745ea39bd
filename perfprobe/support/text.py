"""Makes text from outside safe to print."""

from __future__ import annotations

import re

_ALLOWED = re.compile(r"([\n\t]|\x1b\[[0-9;]*m)")  # ends of lines, and the colours of our reports
# Each of the same width. The bars of a course are told apart by how much ink they have.
_PLAIN = dict.fromkeys("█▉▊▋▌▍▎▏", "#") | {"…": ">", "·": "|", "⋮": ":"}
_PLAIN |= dict(zip("▁▂▃▄▅▆▇", "_.-=+*%", strict=True))


def printable(text: str) -> str:
    """Returns the text on one line, with control characters and direction marks escaped.

    File names, operator names and messages come from programs and files that are not trusted: a terminal must
    show them, but must not act on them.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def harmless(text: str) -> str:
    """Returns a whole output with everything escaped that a terminal would act on, except colours.

    This is the last check before printing. Texts from outside are made `printable` where they are put in,
    because columns need their width. JSON stays valid.
    """
    pieces = _ALLOWED.split(text)
    if "".join(pieces[::2]).isprintable():
        return text
    pieces[::2] = ["".join(map(_as_in_json, piece)) for piece in pieces[::2]]
    return "".join(pieces)


def encodable(text: str, encoding: str | None) -> str:
    """Replaces characters that the encoding does not have by similar ASCII marks, else by `?`."""
    known = encoding or "utf-8"
    replaced = {ord(mark): plain for mark, plain in _PLAIN.items() if not _is_known(mark, known)}
    text = text.translate(replaced)
    return text.encode(known, errors="replace").decode(known)


def _is_known(letter: str, encoding: str) -> bool:
    try:
        letter.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _as_in_json(letter: str) -> str:
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 1 << 16 else _escape(letter)


def _escape(letter: str) -> str:
    if letter == "\n":
        return " "
    return letter.encode("unicode_escape").decode("ascii")
