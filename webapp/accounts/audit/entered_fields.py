"""Form fields that an audit entry stores, shortened and redacted."""

import re
from collections.abc import Mapping
from typing import Any

from ingest.redaction.texts import redact
from ingest.source_registry import settings

SHOWN = frozenset(
    (
        "cluster",
        "clusters",
        "days",
        "destination",
        "disable",
        "enabled",
        "endpoint",
        "ends_at",
        "every_s",
        "format",
        "from",
        "hours",
        "job",
        "job_id",
        "jobs",
        "kind",
        "language",
        "lasts_s",
        "matchers",
        "min_severity",
        "name",
        "order",
        "owner",
        "pause",
        "role",
        "root",
        "roots",
        "rule",
        "scope",
        "sees",
        "sees_only",
        "severity",
        "starts_at",
        "state",
        "subject",
        "take_back",
        "to",
        "uid",
        "uri",
        "username",
        "value",
        "verb",
        "waste",
        "withdraw",
        "zone",
    )
)
"""Addresses are not shown, since they may contain passwords; comments may contain anything."""

CONNECTION_TEST = "cluster.test"
_CLUSTER_ADDRESSES = tuple(setting.field for setting in settings("address", "place", "places"))
ADDRESSES = {CONNECTION_TEST: _CLUSTER_ADDRESSES, "cluster.add": _CLUSTER_ADDRESSES}
TYPED_NAME = "name_as_typed"

SUBJECT_FIELDS = (
    "uid",
    "name",
    "uri",
    "username",
    "subject",
    "rule",
    "matchers",
    "root",
    "roots",
    "job",
    "jobs",
    "cluster",
)
"""Fields that identify the subject, the most telling first."""

LONGEST, MOST_FIELDS, MOST_ITEMS = 200, 100, 10
_THRESHOLD = re.compile(r"[a-z_]{1,40}(\.[a-z0-9_]{1,60}){1,3}")
_QUERY_OR_FRAGMENT = re.compile(r"[?#]")
_NUMBER = re.compile(r"-?[0-9.,]{1,20}")


def details(entered: Mapping[str, Any], action: str = "") -> dict[str, str]:
    """Returns field → text. The name in a connection test may belong to no cluster, so its field
    becomes ``name_as_typed``.
    """
    fields = {
        name: text(value)
        for name, value in entered.items()
        if _is_shown(str(name), value) and text(value)
    }
    if action == CONNECTION_TEST and "name" in fields:
        fields[TYPED_NAME] = fields.pop("name")
    addresses = {
        name: text([_strip_address(line) for line in _lines(entered.get(name))[: MOST_ITEMS + 1]])
        for name in ADDRESSES.get(action, ())
    }
    shown = {name: value for name, value in addresses.items() if value} | fields
    # Thresholds, whose names have a dot, are cut first: there may be any number.
    return dict(sorted(shown.items(), key=lambda field: "." in field[0])[:MOST_FIELDS])


def subject(details: Mapping[str, str]) -> str:
    if TYPED_NAME in details:
        return f"{details[TYPED_NAME]} (as typed)"
    return next((details[name] for name in SUBJECT_FIELDS if name in details), "")


def text(value: Any) -> str:
    if value is None or value is False:
        return ""
    if isinstance(value, (list, tuple)):
        more = ", …" if len(value) > MOST_ITEMS else ""
        return text(", ".join(text(item) for item in value[:MOST_ITEMS]) + more)
    if isinstance(value, dict):
        return text(" ".join(text(item) for item in list(value.values())[:MOST_ITEMS]))
    plain = redact(str(value)[: 4 * LONGEST].replace("\x00", "�").strip())
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"


def _lines(value: Any) -> list[str]:
    return value.splitlines() if isinstance(value, str) else list(value or ())


def _strip_address(line: str) -> str:
    """``line`` without user info, query and fragment; a path stays as it is."""
    if line.startswith("/"):
        return line
    scheme, separator, location = line.partition("://")
    return f"{_strip_part(scheme)}{separator}{_strip_part(location)}"


def _strip_part(part: str) -> str:
    return _QUERY_OR_FRAGMENT.split(part.rpartition("@")[2], maxsplit=1)[0]


def _is_shown(name: str, value: Any) -> bool:
    return name in SHOWN or bool(_THRESHOLD.fullmatch(name) and _NUMBER.fullmatch(str(value)))
