"""Judges by its name whether a value is a secret."""

from __future__ import annotations

import re

# What a name says of its value: nothing; that it may be a secret, if it looks random; that it is one unless
# it is a number; that it is one.
NOTHING, MAYBE, LIKELY, SURE = range(4)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECRETS = _words("""
    token secret password passwd passphrase passcode pwd pw credential cred apikey bearer
    authorization auth cookie jwt pat psk otp sas
""")
_PLURALS = _words("""
    keys apikeys tokens secrets passwords passphrases credentials creds cookies
""")
_ENDS = tuple(
    _words("""
    password passwd passphrase token secret credentials apikey authkey accesskey secretkey
    privatekey accountkey accesskeyid
""")
)
_MAYBE = _words("""
    key keys sig signature session sid login relogin wandb license salt nonce code
""")
_KINDS_OF_KEYS = _words("""
    api access private secret auth account license encryption signing app client subscription ssh
    ssl tls gpg pgp rsa pem deploy master sas application service consumer ingest webhook hmac
    decryption bot admin aws azure gcp google gemini openai anthropic mistral cohere groq together
    deepseek replicate openrouter hf huggingface wandb comet neptune mlflow clearml kaggle pinecone
    langchain langsmith nvidia ngc github gitlab stripe sendgrid datadog sentry slack telegram
    twilio storage
""")
# Tokens of text, passes over data: --pad-token, --eos_token, --forward-pass.
_KINDS_OF_TEXT = _words("""
    pad eos bos mask unk sep cls special start end stop image video audio max min num per next first
    last prompt trigger placeholder new total train extra register visual vision class ignore n of
    forward backward single two multi second low high band full one
""")
# After a secret's name these make it the name of something else: --token-length, --password-file.
_ASPECTS = _words("""
    length len size count num number dim dims bits bytes limit rate budget level per step steps
    ratio prob probability dropout drop loss weight weights width window stride embedding embeddings
    embed mixing type types idx index position positions head heads classes file files path dir
    folder jar name names url uri endpoint env format policy ttl timeout expiry provider source
    store through mode method strategy pooling reduction labels cache frequency shift pruning
    merging
""")
_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
# Each secret's name contains one of these: most names are looked at no further.
_HINTS = tuple(
    _words("""
    key token secret pass pw cred auth bearer cookie jwt pat psk otp sas sig session sid login wandb
    license salt nonce code
""")
)
_LONGEST = 200  # characters of a name that are looked at, from its end


def certainty(name: str) -> int:
    """Returns what a name says of its value: NOTHING, MAYBE, LIKELY or SURE."""
    text = name[-_LONGEST:]
    lower = text.lower()
    if not any(map(lower.__contains__, _HINTS)):
        return NOTHING
    words = [word.lower() for word in re.findall(_WORD, text)]
    if len(words) == 1 and words[0] in ("key", "pass", "sig"):
        return LIKELY
    found = NOTHING
    for before, word in zip(["", *words], words, strict=False):
        if word in _ASPECTS:
            found = NOTHING
        elif word in ("id", "ids"):  # of a token of text, or of a session
            found = min(found, MAYBE)
        else:
            found = max(found, _of_word(before, word))
    return found


def is_plural(name: str) -> bool:
    """Whether several values may follow the name of a secret, as in `--api-keys a b`."""
    return name[-_LONGEST:].lower().replace("-", "_").replace(".", "_").rpartition("_")[2] in _PLURALS


def _of_word(before: str, word: str) -> int:
    if word in ("key", "keys") and before in _KINDS_OF_KEYS:
        return SURE if word == "key" else LIKELY
    if before in _KINDS_OF_TEXT and word in ("token", "tokens", "pass"):
        return NOTHING
    if word in _SECRETS or word.endswith(_ENDS):
        is_of_text = word.endswith("token") and word[: -len("token")] in _KINDS_OF_TEXT
        return NOTHING if is_of_text else SURE
    if word in _MAYBE:
        return MAYBE
    return LIKELY if word in _PLURALS or word == "pass" else NOTHING
