"""Judges values whose names are not enough to know whether they are secrets."""

from __future__ import annotations

import re

from perfprobe.support.masking.names import LIKELY, MAYBE, NOTHING

_SWITCHES = ("true", "false", "none", "null", "yes", "no", "on", "off")
_NUMBER = r"[-+]?[\d.,_]{1,12}(?:[eE][-+]?\d{1,3})?[kKmMbBtT]?"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_LOGIN = r"[^\s:/=-][^\s:/=]*:(?!//)[^\s/]\S*"
_IDS = r"\d+:\d+"


def is_secret(value: str, certainty: int) -> bool:
    """Whether a value is a secret, given how certain its name is."""
    if certainty == NOTHING or not value or value.lower() in _SWITCHES:
        return False
    if certainty == MAYBE:
        return _looks_random(value)
    return certainty > LIKELY or re.fullmatch(_NUMBER, value) is None


def is_login(value: str) -> bool:
    """Whether this is `user:password`, as `curl -u` takes it. `1000:1000` are a user's and a group's ids."""
    return ":" in value and re.fullmatch(_LOGIN, value) is not None and not re.fullmatch(_IDS, value)


def _looks_random(value: str) -> bool:
    return any(map(_is_mixed, re.findall("[A-Za-z0-9]{16,}", value))) or re.search(_UUID, value) is not None


def _is_mixed(run: str) -> bool:
    digits = sum(letter.isdigit() for letter in run)
    return 2 <= digits < len(run)
