"""Secrets that are recognised by their form alone.

The forms are facts about what vendors issue: a beginning and what follows it. Beginnings, letters and lengths
are from the rules of CredSweeper 1.19.5 (copyright 2021 SAMSUNG, MIT licence: see NOTICE), and from vendors'
documentation; where forms differ, the shorter one counts.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MASK = "***"

_ALNUM, _HEX, _WORD = "[A-Za-z0-9]", "[0-9a-f]", r"[\w-]"

# By beginning: the letters that follow, and the least number of them. No form has an open number of letters
# in its midst, so that the time is linear in the text, however it was chosen.
_FORMS = {
    # Models and data
    "hf_": (_ALNUM, 20),
    "api_org_": (_ALNUM, 30),
    "sk-ant-": (_WORD, 20),
    "sk-proj-": (_WORD, 16),
    "sk-svcacct-": (_WORD, 16),
    "sk-or-v1-": (_HEX, 32),
    "nvapi-": (_WORD, 20),
    "r8_": (_ALNUM, 20),
    "gsk_": (_ALNUM, 20),
    "xai-": (_ALNUM, 20),
    "pplx-": (_ALNUM, 20),
    "tgp_v1_": (_WORD, 20),
    "tvly-": (_WORD, 20),
    "llx-": (_ALNUM, 20),
    "csk-": (_ALNUM, 30),
    "pcsk_": (r"\w", 20),
    "rpa_": ("[A-Z0-9]", 30),
    "lsv2_": (r"\w", 20),
    "wandb_v1_": (r"\w", 20),
    "KGAT_": (_HEX, 20),
    "dapi": (_HEX, 32),
    "eyJhcGlfYWRkcmVzcy": (r"[\w+/=]", 20),  # Neptune: JSON with "api_address"
    # Clouds
    "AKIA": ("[A-Z0-9]", 16),
    "ASIA": ("[A-Z0-9]", 16),
    "ABIA": ("[A-Z0-9]", 16),
    "ACCA": ("[A-Z0-9]", 16),
    "ABSK": ("[A-Za-z0-9+/]", 28),
    "bedrock-api-key-": ("[A-Za-z0-9+/]", 28),
    "amzn.mws.": (r"[0-9a-z-]", 36),
    "da2-": ("[a-z0-9]", 26),
    "AIza": (_WORD, 30),
    "ya29.": (_WORD, 20),
    "GOCSPX-": (_WORD, 20),
    "1//0": (_WORD, 60),
    "LTAI": (_ALNUM, 16),
    "dop_v1_": (_HEX, 32),
    "doo_v1_": (_HEX, 32),
    "dor_v1_": (_HEX, 32),
    "hvs.": (_WORD, 20),
    "hvb.": (_WORD, 20),
    "hvr.": (_WORD, 20),
    "HRKU-": (_WORD, 30),
    "tskey-": (_WORD, 20),
    "pul-": (_HEX, 40),
    "pscale_": (r"[\w.-]", 32),
    "sbp_": (_HEX, 40),
    "vcp_": (_ALNUM, 50),
    "nfp_": (_ALNUM, 36),
    "dp.pt.": (_ALNUM, 40),
    "dp.st.": (r"[\w.-]", 40),
    "dp.sa.": (_ALNUM, 40),
    # Code and packages
    "ghp_": (_ALNUM, 20),
    "gho_": (_ALNUM, 20),
    "ghu_": (_ALNUM, 20),
    "ghs_": (_ALNUM, 20),
    "ghr_": (_ALNUM, 20),
    "github_pat_": (r"\w", 20),
    "glpat-": (_WORD, 16),
    "gldt-": (_WORD, 16),
    "glrt-": (_WORD, 16),
    "glcbt-": (_WORD, 16),
    "glptt-": (_WORD, 16),
    "glft-": (_WORD, 16),
    "glimt-": (_WORD, 16),
    "glagent-": (_WORD, 16),
    "GR1348941": (_WORD, 16),
    "glsoat-": (_WORD, 16),
    "gloas-": (_WORD, 16),
    "npm_": (_ALNUM, 30),
    "pypi-AgE": (_WORD, 16),
    "pypi-": (_WORD, 80),
    "rubygems_": (_HEX, 40),
    "dckr_pat_": (_WORD, 20),
    "dckr_oat_": (_WORD, 20),
    "ATATT3x": (_WORD, 40),
    "ATCTT3x": (_WORD, 40),
    "ATBB": (_ALNUM, 28),
    "BBDC-": (_WORD, 40),
    "CCIPAT_": (r"\w", 40),
    "AKCp": (_ALNUM, 60),
    "cmVmdGtu": (_WORD, 55),
    "sqp_": (_HEX, 40),
    "squ_": (_HEX, 40),
    "sgp_": (r"\w", 40),
    # Services
    "sk_live_": (_ALNUM, 16),
    "sk_test_": (_ALNUM, 16),
    "rk_live_": (_ALNUM, 16),
    "rk_test_": (_ALNUM, 16),
    "sk_prod_": (_ALNUM, 16),
    "rk_prod_": (_ALNUM, 16),
    "whsec_": (_ALNUM, 24),
    "sq0atp-": (_WORD, 22),
    "sq0csp-": (_WORD, 22),
    "shpat_": ("[0-9A-Fa-f]", 32),
    "shpca_": ("[0-9A-Fa-f]", 32),
    "shppa_": ("[0-9A-Fa-f]", 32),
    "shpss_": ("[0-9A-Fa-f]", 32),
    "EAA": (_ALNUM, 80),  # Facebook
    "A3-": ("[A-Z0-9-]", 28),  # 1Password
    "SG.": (r"[\w.-]", 40),
    "key-": ("[0-9a-z]", 32),
    "xkeysib-": (r"[\w-]", 64),
    "xoxb-": (_WORD, 10),
    "xoxp-": (_WORD, 10),
    "xoxa-": (_WORD, 10),
    "xoxr-": (_WORD, 10),
    "xoxs-": (_WORD, 10),
    "xoxe-": (_WORD, 10),
    "xoxe.": (_WORD, 10),
    "xapp-": (_WORD, 20),
    "lin_api_": (_ALNUM, 32),
    "ntn_": (_ALNUM, 36),
    "figd_": (_WORD, 36),
    "glsa_": (r"\w", 32),
    "glc_eyJ": (r"[\w+/=]", 32),
    "sntrys_": (r"[\w+/=]", 40),
    "sntryu_": (_HEX, 40),
    "NRAK-": ("[A-Z0-9]", 27),
    "PMAK-": ("[0-9a-f-]", 50),
    "CFPAT-": (_WORD, 40),
    "phx_": (_ALNUM, 40),
    "ops_eyJ": (_WORD, 60),
    "AGE-SECRET-KEY-1": ("[0-9A-Z]", 50),
}
# A word does not end in a secret: "sk-" begins none in "task-". But an option may (-pSECRET), or "%20".
_BEFORE = r"(?:(?<![A-Za-z0-9])|(?<=^-[A-Za-z])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt]))"
# Forms of other kinds, by a text that all of them contain. What `kept` matches is kept.
_OTHERS = {
    "sk-": _BEFORE + r"sk-(?=[\w-]{0,30}\d)[\w-]{20}[\w-]*",
    "eyJ": r"(?<![\w-])eyJ[\w-]{8,}\.(?:eyJ[\w-]{8,}|[\w-]{8,}\.)[\w.-]*",  # JWT
    "-us": r"(?<![\w-])[0-9a-f]{32}-us\d{1,2}",  # Mailchimp
    "SK": r"(?<!\w)SK[0-9a-f]{32}",  # Twilio
    "Q~": r"(?<![\w.~-])[\w.~-]{3}[78]Q~[\w.~-]{30}[\w.~-]*",  # Azure
    ":AA": r"(?<!\d)\d{8,10}:AA[\w-]{30}[\w-]*",  # Telegram
    "hooks.slack.com/": r"(?P<kept>hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/-]+",
    "/api/webhooks/": r"(?P<kept>/api/webhooks/)[\w/-]+",  # Discord
    "webhook.office.com/": r"(?P<kept>webhook\.office\.com/)[\w@/-]+",
    "hooks.zapier.com/": r"(?P<kept>hooks\.zapier\.com/hooks/)[\w/-]+",
    "PRIVATE KEY": r"-----BEGIN[ A-Z]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END)[\s\S])*"
    r"(?:-----END[ A-Z]{0,60}-----)?",
}


def forms_in(text: str) -> list[re.Pattern[str]]:
    """Returns the patterns of the secrets that this text may hold.

    Only these are compiled, because that takes 0.1 ms each and most command lines need none.
    """
    found = [
        re.compile(rf"{_BEFORE}{re.escape(start)}{letters}{{{least}}}(?:{letters}|[\w-])*")
        for start, (letters, least) in _FORMS.items()
        if start in text
    ]
    return found + [re.compile(pattern) for part, pattern in _OTHERS.items() if part in text]


def without_forms(text: str, forms: Sequence[re.Pattern[str]]) -> str:
    """Returns the text with *** in place of what matches one of the forms."""
    for form in forms:
        text = form.sub(_masked, text)
    return text


def _masked(found: re.Match[str]) -> str:
    return (found.groupdict().get("kept") or "") + MASK
