"""What may be entered for a cluster."""

import re
import zoneinfo
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError


def is_web_url(url: str) -> None:
    """Accept http and https with a host and without credentials in the address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
        parts = urlsplit("")
    if not usable:
        raise ValidationError("Give an address such as http://jobmanager:8081.")
    if parts.username or parts.password:
        raise ValidationError("Give user and password as credentials, not inside the address.")


def is_time_zone(name: str) -> None:
    if name not in zoneinfo.available_timezones():
        raise ValidationError("Give an IANA time zone such as UTC or Europe/Berlin.")


_MATCHER = r'[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\\n]|\\[^\n])*"'
_MATCHERS = re.compile(rf"\s*{_MATCHER}(?:\s*,\s*{_MATCHER})*\s*")


def are_label_matchers(text: str) -> None:
    """Accept what may stand between the braces of a Prometheus selector."""
    if not _MATCHERS.fullmatch(text):
        raise ValidationError('Give label matchers such as namespace="flink",cluster="payments".')
