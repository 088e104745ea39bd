"""Names that a C++ compiler mangled. They are untrusted: what does not look like one is taken as it is."""

from __future__ import annotations

from functools import lru_cache

from perfprobe.support.pattern import pattern

_LONGEST = 8_192  # characters that are read
_MOST_ARGUMENTS = 2
_SOURCE_NAME = pattern(r"(\d{1,4})")
# Names of template arguments that say nothing: of types, and of constants.
_NO_ARGUMENT = pattern(r"__\w*bfloat16|BFloat16|Half|__half2?|bool|int|float|\d+")


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """The name without mangling of C++: `ck_tile::kentry<Rmsnorm2dFwd>` for `_ZN7ck_tile6kentryILi1ENS_...`.

    Only nested names of the Itanium C++ ABI are read (5.1.6, `<nested-name>`), and of template arguments the
    first names that say what the kernel is for.
    """
    text = name[:_LONGEST]
    if not text.startswith("_ZN"):
        return name
    at, parts = 3, list[str]()
    while at < len(text) and text[at].isdigit():
        part, at = _source_name(text, at)
        parts.append(part)
    if not parts or not all(parts):
        return name
    arguments = _arguments(text, at) if text[at : at + 1] == "I" else []
    return "::".join(parts) + (f"<{', '.join(arguments)}>" if arguments else "")


def _source_name(text: str, at: int) -> tuple[str, int]:
    """The name that begins here with its length, and where it ends; "" if it is cut off."""
    length = _SOURCE_NAME.match(text, at)
    if length is None:
        return "", len(text)
    end = length.end() + int(length[1])
    return (text[length.end() : end], end) if end <= len(text) else ("", len(text))


def _arguments(text: str, at: int) -> list[str]:
    """The first names in template arguments that are not of plain types."""
    found: list[str] = []
    while at < len(text) and len(found) < _MOST_ARGUMENTS:
        if text[at] == "L":  # a constant: its value is no name
            at = text.find("E", at) + 1 or len(text)
        elif text[at].isdigit():
            part, at = _source_name(text, at)
            found += [part] if part and _NO_ARGUMENT.fullmatch(part) is None else []
        else:
            at += 1
    return found
