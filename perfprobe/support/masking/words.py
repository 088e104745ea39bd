"""Masks secrets on a command line."""

from __future__ import annotations

import re

from perfprobe.support.masking import values
from perfprobe.support.masking.names import MAYBE, NOTHING, SURE, certainty, is_plural
from perfprobe.support.masking.shapes import MASK, forms_in
from perfprobe.support.masking.text import LOGIN_OPTIONS, masked_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Words that are no options, but may be followed by a secret: `wandb login 0123...`.
_BEFORE_SECRETS = frozenset(
    ("login", "token", "password", "secret", "key", "auth", "bearer", "apikey", "api-key")
)
_SCHEMES = frozenset(("bearer", "basic", "token", "digest", "apikey", "=", ":"))


def masked(words: Sequence[str]) -> list[str]:
    """Returns the command line with *** in place of secrets. A word that is no text becomes `(?)`."""
    texts = [word if isinstance(word, str) else "(?)" for word in words]
    return _shown(texts, forms_in("\n".join(texts)))


def _shown(words: Sequence[str], forms: Sequence[re.Pattern[str]]) -> list[str]:
    line = _Line(forms)
    return [line.shown(word) for word in words]


class _Line:
    """Shows one word of a command line after the other, and remembers what the next one will be."""

    def __init__(self, forms: Sequence[re.Pattern[str]]) -> None:
        self._forms = forms
        self._expected = NOTHING  # what the word before says of this one
        self._are_many = False  # so do all words up to the next option
        self._is_login = False
        self._end_of_key = ""  # what ends a key, of which each word is an argument

    def shown(self, word: str) -> str:
        """Returns the word, or what is shown of it."""
        if self._is_of_key(word):
            return MASK
        expected = self._expected
        if expected and word.lower() in _SCHEMES:
            return word
        if MASK in word and not word.strip(f"{MASK}\"'\\,;:()[]{{}}"):  # in a word that was masked before
            self._expected = NOTHING
            return word
        if self._is_login and values.is_login(word):
            self._is_login = False
            return MASK
        if expected and self._takes(word) and values.is_secret(word, expected):
            self._expected = expected if self._are_many else NOTHING
            return MASK
        self._expect(word)
        return self._masked(word)

    def _is_of_key(self, word: str) -> bool:
        if word == "-----BEGIN":
            self._end_of_key = "-----END"
        elif self._end_of_key == word == "-----END":
            self._end_of_key = "-----"
        elif self._end_of_key == "-----" and word.endswith("-----"):
            self._end_of_key = ""
            return True
        return bool(self._end_of_key)

    def _takes(self, word: str) -> bool:
        if self._are_many or self._expected < SURE:
            return not word.startswith("-")
        return not word.startswith("--")

    def _expect(self, word: str) -> None:
        self._expected, self._are_many = NOTHING, False
        self._is_login = word in LOGIN_OPTIONS
        if word in _BEFORE_SECRETS:
            self._expected = MAYBE
        elif word.startswith("-") or word.endswith((":", "=")):
            name = word.strip("\"'({:=")
            if name.replace("-", "_").replace(".", "_").isidentifier():
                self._expected = certainty(name)
                self._are_many = self._expected != NOTHING and is_plural(name)

    def _masked(self, word: str) -> str:
        text = masked_text(word, self._forms)
        if len(text.split(None, 1)) < 2:
            return text
        pieces = re.split(r"(\s+)", text)  # a command line in a word, as after `sh -c`
        pieces[::2] = _shown(pieces[::2], self._forms)
        return "".join(pieces)
