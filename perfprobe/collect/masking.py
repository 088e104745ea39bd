"""Masks secrets on a command line, so that recordings do not contain them: people share recordings.

Secrets are recognised by their names (`--api-key`, `password=`) and by known forms. It is better to mask a
harmless value than to leave a secret. Tokens of text (`--pad-token`) are not masked.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MASK = "***"

_SECRET_NAMES = frozenset(
    (
        *("token", "secret", "password", "passwd", "passphrase", "pwd", "pass", "credential", "credentials"),
        *("apikey", "bearer", "authorization", "cookie", "jwt", "pat"),
    )
)
_KINDS_OF_KEYS = frozenset(
    (
        *("api", "access", "private", "secret", "auth", "account", "license", "encryption", "signing"),
        *("client", "subscription", "wandb", "hf", "openai", "anthropic", "comet", "neptune", "ssh", "aws"),
    )
)
# Tokens of text: --pad-token, --eos_token.
_KINDS_OF_TEXT = frozenset(
    (
        *("pad", "eos", "bos", "mask", "unk", "sep", "cls", "special", "start", "end", "stop", "image"),
        *("audio", "max", "min", "num", "per", "next", "first", "last", "prompt", "trigger", "placeholder"),
    )
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAME = re.compile(r"[-+\w.]*[A-Za-z][\w.-]*")
_VALUE = re.compile(r"""["']?\s*[:=]\s*["']?((?:Bearer |Basic )?[^\s"',;&]+)""")
_FORMS = re.compile(
    r"hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{20,}"
    r"|xox[a-z]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)
_USER_OF_URL = re.compile(r"(?<=://)[^\s/@]*:[^\s/@]+(?=@)")


def masked(words: Sequence[str]) -> list[str]:
    """Returns the command line with *** in place of secrets."""
    found = []
    is_value = False  # the previous word named a secret, and this is its value
    for word in words:
        is_option = word.startswith("-")
        found.append(MASK if is_value and not word.startswith("--") else _masked_word(word))
        is_value = is_option and "=" not in word and _is_secret(word)
    return found


def _masked_word(word: str) -> str:
    name, equals, _ = word.partition("=")
    if equals and _NAME.fullmatch(name) and _is_secret(name):
        return f"{name}={MASK}"  # masks any value, also with spaces
    return _masked_values(_USER_OF_URL.sub(MASK, _FORMS.sub(MASK, word)))


def _masked_values(text: str) -> str:
    """Masks the values of secret names in a text: in a URL, in JSON, in a header."""
    parts, end = [], 0
    for name in _NAME.finditer(text):
        value = _VALUE.match(text, name.end())
        if name.start() >= end and value is not None and _is_secret(name[0]):
            parts += [text[end : value.start(1)], MASK]
            end = value.end()
    return "".join([*parts, text[end:]])


def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    for before, word in zip(["", *words], words, strict=False):
        is_key = word in ("key", "keys") and before in _KINDS_OF_KEYS
        if is_key or (word in _SECRET_NAMES and before not in _KINDS_OF_TEXT):
            return True
    return False
