"""Checks of settings: true if the value is valid."""

import ipaddress
import re
from pathlib import Path
from urllib.parse import urlsplit

_BIND = re.compile(r"^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):(\d{1,5})$")
is_redis = re.compile(r"rediss?://[^/]|(redis\+socket|unix):///").match
is_smtp = re.compile(r"(smtp|smtps|smtp\+starttls)://([^/@\s]+@)?[A-Za-z0-9.\[\]:-]+/?").fullmatch
is_host = re.compile(r"\*|\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9a-fA-F:]+\]").fullmatch
is_mail_address = re.compile(r"[^@\s<>,]+@[^@\s<>,]+").fullmatch


def may_be_folder(path: str) -> bool:
    folder = Path(path).expanduser()
    return "\0" not in path and (folder.is_dir() or not folder.exists())


def is_absolute(path: str) -> bool:
    return "\0" not in path and Path(path).is_absolute()


def is_place(place: str) -> bool:
    scheme, separator, rest = place.partition("://")
    if separator:
        return bool(re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) and rest)
    return not re.match(r"^[a-z0-9]+:[^/\\]", place)


def is_bind(bind: str) -> bool:
    match = _BIND.match(bind)
    return match is not None and 0 < int(match[2]) < 65536


def is_origin(origin: str) -> bool:
    try:
        url = urlsplit(origin)
        return url.scheme in ("http", "https") and bool(url.hostname) and not url.path.strip("/")
    except ValueError:
        return False


def is_issuer(address: str) -> bool:
    """Requires https, except on loopback: over http anybody on the network path could sign in as
    anybody.
    """
    try:
        url = urlsplit(address)
    except ValueError:
        return False
    is_loopback = url.scheme == "http" and url.hostname in ("127.0.0.1", "localhost", "::1")
    return (
        (url.scheme == "https" or is_loopback)
        and bool(url.hostname)
        and not (url.query or url.fragment or url.username)
    )


def are_roles(roles: dict[str, str]) -> bool:
    return set(roles.values()) <= {"viewer", "operator", "admin"}


def is_network(network: str) -> bool:
    try:
        return bool(ipaddress.ip_network(network.strip()))
    except ValueError:
        return False
