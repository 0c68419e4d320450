import re
import zoneinfo
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.utils.translation import gettext


def is_web_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
        parts = urlsplit("")
    if not is_usable:
        raise ValidationError(gettext("Give an address such as http://jobmanager:8081."))
    if parts.username or parts.password:
        raise ValidationError(
            gettext("Give user and password as credentials, not inside the address.")
        )


def is_time_zone(name: str) -> None:
    if name not in zoneinfo.available_timezones():
        raise ValidationError(gettext("Give an IANA time zone such as UTC or Europe/Berlin."))


_MATCHER = r'[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\\n]|\\[^\n])*"'
_MATCHERS = re.compile(rf"\s*{_MATCHER}(?:\s*,\s*{_MATCHER})*\s*")


def are_label_matchers(text: str) -> None:
    if not _MATCHERS.fullmatch(text):
        raise ValidationError(
            gettext('Give label matchers such as namespace="flink",cluster="payments".')
        )


_SELECTOR = re.compile(rf"\s*\{{\s*{_MATCHER}(?:\s*,\s*{_MATCHER})*\s*,?\s*\}}.*", re.DOTALL)
_INDEX = re.compile(r"[A-Za-z0-9.*_-][A-Za-z0-9.*_:-]*(?:,-?[A-Za-z0-9.*_][A-Za-z0-9.*_:-]*)*")
_TENANT = re.compile(r"[A-Za-z0-9!._*'()|-]+")


def is_log_selector(text: str) -> None:
    if not _SELECTOR.fullmatch(text):
        raise ValidationError(
            gettext('Give a selector of LogQL such as {namespace="flink",cluster="payments"}.')
        )


def is_index_pattern(text: str) -> None:
    if not _INDEX.fullmatch(text):
        raise ValidationError(
            gettext(
                "Give the name of an index or data stream, or a pattern such as logs-flink-*; "
                "several separated by commas."
            )
        )


def is_tenant(text: str) -> None:
    """Loki and Mimir accept several tenants, separated by ``|``."""
    if not _TENANT.fullmatch(text):
        raise ValidationError(
            gettext("Give the name of a tenant: letters, digits and !-_.*'() alone.")
        )
