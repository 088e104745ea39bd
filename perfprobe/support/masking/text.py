"""Masks secrets in a text, such as one word of a command line."""

from __future__ import annotations

import re

from perfprobe.support.masking import values
from perfprobe.support.masking.names import MAYBE, NOTHING, SURE, certainty
from perfprobe.support.masking.shapes import MASK, forms_in, without_forms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LOGIN_OPTIONS = frozenset(
    (
        *("-u", "-U", "-a", "--user", "--userpwd", "--login", "--creds", "--basic-auth", "--http-auth"),
        *("--proxy-user", "--proxy-auth", "--ftp-user"),
    )
)
_LONGEST_CHAIN = 4  # --set=db.password=...
_LONGEST_CHECKED = 80  # letters
_LEAST_TOKEN = 20  # letters of a user in a URL that is taken for a token, except on the web: any is there

# Compiled when needed, which keeps the start of the program short. No pattern repeats what another repetition
# may also match, so that the time is linear in the text.
_NAME = r"[\w.+-]+"
_SEPARATOR = r"""\\*["']?\]?\s{0,8}(?:=>|[?:+]{0,3}=|:(?!//)|%3[dD])\s{0,8}"""
_QUOTE = r"""\\*["']"""
_UNQUOTED = (
    r"(?i:(?:bearer|basic|token|digest|apikey)\s)?"
    r"""(?:[^\s"',;&]|,(?!\s{0,8}["']?[\w.-]{1,64}["']?\s{0,8}[=:]))+"""
)
_REST_OF_LINE = r"""[^"'\r\n]+"""
_ASSIGNED = r"[\w.+~@/\[\]-]*=|[\w-]+:(?!//)\s*"
_BARE_LOGIN = (
    r"(?P<before>^|[=\s])(?!mailto:|[\w./-]+:[\w.-]+@sha)[^\s:/@=]{1,100}:(?!//)[^\s@]{1,200}@"
    r"(?=[\w-]{1,63}(?:\.[\w-]|:\d))"
)


def masked_text(text: str, forms: Sequence[re.Pattern[str]] | None = None) -> str:
    """Returns the text with *** in place of secrets.

    Args:
        forms: from `forms_in`, of this text or of a longer one.
    """
    text = without_forms(text, forms_in(text) if forms is None else forms)
    if ":" not in text and "@" not in text and "%3" not in text:
        name, _, value = text.partition("=")
        if "=" not in value and (not value or certainty(name) == NOTHING):
            return text
    return _masked_assignment(text) or _masked_values(_masked_logins(text))


def _masked_assignment(text: str) -> str | None:
    """Masks all that follows the name of a secret that the text begins with, also with spaces and commas."""
    end = 0
    for _ in range(_LONGEST_CHAIN):
        found = re.compile(_ASSIGNED).match(text, end)
        if found is None:
            return None
        end = found.end()
        names, value = re.findall(_NAME, found[0]), text[end:]
        sure = certainty(names[-1]) if names else NOTHING
        is_whole = sure == SURE or found[0].endswith("=")
        if (is_whole and values.is_secret(value, sure)) or (
            found[0].rstrip("=") in LOGIN_OPTIONS and values.is_login(value)
        ):
            return text[:end] + MASK
    return None


def _masked_logins(text: str) -> str:
    """Masks users and passwords in URLs, and in `user:password@host`."""
    if "@" not in text:
        return text
    scheme, *rest = text.split("://")
    parts = [scheme]
    for part in rest:
        parts.append(_without_user(part, is_web=scheme.lower().endswith(("http", "https"))))
        scheme = part
    return re.sub(_BARE_LOGIN, rf"\g<before>{MASK}@", "://".join(parts))


def _without_user(url: str, *, is_web: bool) -> str:
    """Masks the user and password at the beginning of a URL without its scheme.

    Passwords that contain `@` or `/` should be encoded, but some are not: up to the last `@` all is masked.
    """
    authority = re.split(r'[\s"]', url, maxsplit=1)[0]
    head = re.split("[/?#]", authority, maxsplit=1)[0]
    name, colon, _ = head.partition(":")
    if colon and "@" not in name:
        has_port = (
            (is_web or "." in name)
            and "@" not in head
            and re.match(r"\d{1,5}[/?#]", authority[len(name) + 1 :])
        )
        end = -1 if has_port else authority.rfind("@")
    else:
        end = head.rfind("@")
        end = end if is_web or end >= _LEAST_TOKEN else -1
    return url if end < 0 or head[:end] == "git" else MASK + url[end:]


def _masked_values(text: str) -> str:
    """Masks the values of secret names in a text: in a URL, in JSON, in a header."""
    parts, done = [], 0
    for name in re.finditer(_NAME, text):
        separator = re.compile(_SEPARATOR).match(text, name.end())
        if separator is not None and name.start() >= done:
            begin, end = _secret(text, separator.end(), name[0])
            if begin < end:
                parts += [text[done:begin], MASK]
                done = end
    return "".join([*parts, text[done:]])


def _secret(text: str, begin: int, name: str) -> tuple[int, int]:
    """Returns where the secret of this name begins and ends; the same place twice if its value is none."""
    sure = certainty(name)
    if sure == NOTHING:
        return begin, begin
    # Every name could be followed by the whole text, so that values that need not be secrets are cut first.
    first, last = _value(text, begin, name, begin + _LONGEST_CHECKED if sure == MAYBE else len(text))
    if not values.is_secret(text[first:last], sure) or text.startswith(MASK, first):
        return begin, begin
    return _value(text, begin, name, len(text))


def _value(text: str, begin: int, name: str, most: int) -> tuple[int, int]:
    """Returns where the value at `begin` begins and ends, without its quotes, at most at `most`."""
    most = min(most, len(text))
    if text.startswith("[", begin):
        end = text.find("]", begin, most)
        return begin, most if end < 0 else end + 1
    quote = re.compile(_QUOTE).match(text, begin)
    if quote is not None:
        closing = re.compile(rf"(?<!\\){re.escape(quote[0])}").search(text, quote.end(), most)
        return quote.end(), most if closing is None else closing.start()
    if text.startswith("{", begin):
        return begin, begin  # the names inside it are looked at themselves
    is_line = name.lower().endswith(("authorization", "cookie"))
    found = re.compile(_REST_OF_LINE if is_line else _UNQUOTED).match(text, begin, most)
    return begin, begin if found is None else found.end()
