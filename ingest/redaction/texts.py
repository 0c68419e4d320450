"""Removes secrets from texts, for every output: ``redact`` or, for decoded JSON,
``documents.redact_document``. Both are idempotent, take linear time, and keep
the syntax. Add a new form of secrets to ``tests/fixtures/redaction/secrets.jsonl``;
``honest.jsonl`` has texts that look similar.
"""

import re
from collections.abc import Iterator

from ingest.messages import Message, with_texts
from ingest.redaction.marks import MASK, redact_blocks
from ingest.redaction.pairs import redact_pairs
from ingest.redaction.suspicion import is_suspicious
from ingest.redaction.urls import redact_urls

_TOKENS = re.compile(
    r"""(?<![A-Za-z0-9])(?:
      (?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}
    | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
    | gl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_\-]{16,}
    | xox[a-z]-[A-Za-z0-9\-]{10,} | xapp-[A-Za-z0-9\-]{10,}
    | eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*){1,3}
    | AIza[A-Za-z0-9_\-]{30,} | ya29\.[A-Za-z0-9_\-]{10,} | GOCSPX-[A-Za-z0-9_\-]{10,}
    | (?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,} | sk-(?:proj|ant)-[A-Za-z0-9_\-]{20,}
    | SG\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,} | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_\-]{40,}
    | dckr_pat_[A-Za-z0-9_\-]{20,} | do[opr]_v1_[a-f0-9]{40,} | dapi[a-f0-9]{32}
    | hv[sbr]\.[A-Za-z0-9_\-]{20,} | whsec_[A-Za-z0-9+/=]{10,}
    | AGE-SECRET-KEY-1[A-Z0-9]{20,} | glc_[A-Za-z0-9+/=]{20,} | shp(?:at|ss|ca)_[a-fA-F0-9]{32}
    )""",
    re.VERBOSE,
)
_ADDRESSES = re.compile(
    r"""(?P<lead>
      hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/
    | discord(?:app)?\.com/api(?:/v\d{1,2})?/webhooks/\d{1,25}/
    | (?:webhook\.office|outlook\.office(?:365)?)\.com/webhook\w{0,3}/
    | (?:open\.feishu\.cn|open\.larksuite\.com)/open-apis/bot/(?:v2/)?hook/
    | (?:api\.)?telegram\.org/bot
    | hooks\.zapier\.com/hooks/catch/
    | qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=
    | events\.pagerduty\.com/(?:integration|x-ere)/
    | chat\.googleapis\.com/v1/spaces/[\w\-]{1,40}/messages\?key=
    )[^\s"'<>`\\)\]},;?&]+
    | (?P<query>[?&](?:key|code|sig|signature|X-Amz-Credential)=)[^\s"'<>`\\&;,)\]}#]{16,}""",
    re.VERBOSE | re.IGNORECASE,
)
_SCHEMES = re.compile(
    r"\b(?P<scheme>bearer|basic)(?P<gap>[ \t]{1,4})(?P<value>[A-Za-z0-9+/_.~=\-]{8,})",
    re.IGNORECASE,
)
_ORACLE = re.compile(
    r"(?P<lead>jdbc:oracle:\w{1,10}:[^\s/@\"']{1,128}/)[^\s\"']{1,512}(?=@)", re.IGNORECASE
)
_CURL = re.compile(
    r"(?P<lead>(?:\s|^)(?:-u|--user|--proxy-user)[ =][\"']?[^\s:\"']{1,64}:)[^\s\"']+"
)
_IDENTIFIED = re.compile(
    r"(?P<lead>\bidentified[ ]{1,4}(?:with[ ]\w{1,40}[ ])?(?:by|as)[ "
    r"]{1,4}(?P<quote>['\"]))[^'\"\n]{1,512}",
    re.IGNORECASE,
)


def redact_shapes(text: str) -> str:
    text = _TOKENS.sub(MASK, text)
    text = _ADDRESSES.sub(lambda match: (match["lead"] or match["query"]) + MASK, text)
    text = _SCHEMES.sub(_scheme, text)
    if "jdbc:oracle" in text:
        text = _ORACLE.sub(rf"\g<lead>{MASK}", text)
    if "-u" in text:
        text = _CURL.sub(rf"\g<lead>{MASK}", text)
    return (
        _IDENTIFIED.sub(rf"\g<lead>{MASK}", text)
        if "dentified" in text or "DENTIFIED" in text
        else text
    )


def _scheme(match: re.Match[str]) -> str:
    value = match["value"]
    is_random = any(letter.isdigit() or letter == "=" for letter in value) or (
        value.lower() != value and not value.istitle() and not value.isupper()
    )
    return f"{match['scheme']}{match['gap']}{MASK}" if is_random else match[0]


LONG = 4_096
"""Longer texts are checked by line: most log lines have nothing suspicious."""
LINES_AFTER = 3
"""Lines checked after a suspicious line: ``<value>`` and blocks of YAML follow it."""

MOST_PASSES = 8
"""Several passes, since masking may change how neighbouring characters are parsed."""


def redact(text: str) -> str:
    """``text`` with ``******`` instead of passwords, tokens and keys."""
    if isinstance(text, Message):
        return with_texts(text, redact) if is_suspicious(text) else text
    text = redact_blocks(text)
    if not is_suspicious(text):
        return text
    return "".join(_by_groups(text)) if len(text) > LONG and "\n" in text else _redact(text)


def _redact(text: str) -> str:
    for _ in range(MOST_PASSES):
        before, text = text, redact_pairs(redact_shapes(redact_urls(redact_blocks(text))))
        if text == before:
            break
    return text


def _by_groups(text: str) -> Iterator[str]:
    group: list[str] = []
    lines_left = 0
    for line in text.splitlines(keepends=True):
        lines_left = LINES_AFTER if is_suspicious(line) else lines_left - 1
        if lines_left >= 0:
            group.append(line)
            continue
        if group:
            yield _redact("".join(group))
            group.clear()
        yield line
    if group:
        yield _redact("".join(group))
