"""Masks user and password in URLs, even if the password has ``@``, ``/`` or ``:``."""

import re

from ingest.redaction.marks import MASK

LONGEST = 2_000
_RUN = re.compile(r"[^\s\"'<>`\\]+")
_SCHEME_AT_END = re.compile(r"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]{0,20}\Z")
_HOST = re.compile(r"\[?[\w.:\-]{1,255}\]?(?=[/?#,;)\]}]|$)")
_PORT = re.compile(r"\d{0,5}(?:,.*)?", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{0,30}\Z")
_USER_IS_A_NAME = re.compile(
    r"abfss?|wasbs?|adl|(?:pekko|akka)\S*|ssh|sftp|git|git\+ssh|svn\+ssh"
    r"|hdfs|webhdfs|swebhdfs|viewfs|mailto|xmpp|sip",
    re.IGNORECASE,
)
"""Schemes whose user without password is a container, an actor system or a person."""


def redact_urls(text: str) -> str:
    pieces: list[str] = []
    done = 0
    at = text.find("://")
    while at >= 0:
        start = end = at + 3
        next_at = text.find("://", start, start + LONGEST)
        run = _RUN.match(text, start, next_at if next_at >= 0 else start + LONGEST)
        if run and "@" in run[0]:
            url_part = _SCHEME_AT_END.sub("", run[0]) if run.end() == next_at else run[0]
            span = _userinfo(url_part, _scheme(text, at))
            if span:
                pieces += text[done : start + span[0]], MASK
                done = end = start + span[1]
        at = text.find("://", end)
    return "".join((*pieces, text[done:])) if pieces else text


def _scheme(text: str, at: int) -> str:
    match = _SCHEME.search(text, max(0, at - 30), at)
    return match[0] if match else ""


def _userinfo(run: str, scheme: str) -> tuple[int, int] | None:
    """Begin and end of what is hidden in ``user:password@host/path``, None for nothing."""
    last_at = run.rfind("@")
    if last_at < 0:
        return None
    authority = re.split(r"[/?#]", run, maxsplit=1)[0]
    first_at = authority.find("@")
    if first_at < 0:
        # ``user:pass/word@host``, unless it is ``host:8081/path@x``.
        host, colon, port = authority.rpartition(":")
        if (
            not colon
            or (_PORT.fullmatch(port) and not _looks_like_host(run, last_at))
            or _USER_IS_A_NAME.fullmatch(scheme)
            or "[" in host
        ):
            return None
        return 0, last_at
    if ":" not in authority[:first_at]:
        if _USER_IS_A_NAME.fullmatch(scheme):
            return None
        return 0, authority.rfind("@")
    if "@" not in run[len(authority) :] or not _looks_like_host(run, last_at):
        return 0, authority.rfind("@")
    return 0, last_at


def _looks_like_host(run: str, at: int) -> bool:
    return _HOST.match(run, at + 1) is not None
