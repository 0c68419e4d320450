"""What an entry contains of what was entered: fields that hold no secret, shortened and redacted."""

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
"""Addresses may contain passwords, and comments anything."""

TRIED = "cluster.test"
_OF_A_CLUSTER = tuple(setting.field for setting in settings("address", "place", "places"))
ADDRESSES = {TRIED: _OF_A_CLUSTER, "cluster.add": _OF_A_CLUSTER}
"""Action that connects to somebody → fields with its addresses."""
TYPED_NAME = "name_as_typed"

NAMING = (
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
_BEHIND = re.compile(r"[?#]")
_NUMBER = re.compile(r"-?[0-9.,]{1,20}")


def details(entered: Mapping[str, Any], action: str = "") -> dict[str, str]:
    """Field → text. The name in a connection test is called typed: it may be anybody's."""
    fields = {
        name: text(value)
        for name, value in entered.items()
        if _is_shown(str(name), value) and text(value)
    }
    if action == TRIED and "name" in fields:
        fields[TYPED_NAME] = fields.pop("name")
    asked = {
        name: text([_address(line) for line in _lines(entered.get(name))[: MOST_ITEMS + 1]])
        for name in ADDRESSES.get(action, ())
    }
    told = {name: told for name, told in asked.items() if told} | fields
    # There may be any number of thresholds.
    return dict(sorted(told.items(), key=lambda field: "." in field[0])[:MOST_FIELDS])


def subject(details: Mapping[str, str]) -> str:
    if TYPED_NAME in details:
        return f"{details[TYPED_NAME]} (as typed)"
    return next((details[name] for name in NAMING if name in details), "")


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


def _address(written: str) -> str:
    if written.startswith("/"):
        return written
    scheme, mark, rest = written.partition("://")
    return f"{_bare(scheme)}{mark}{_bare(rest)}"


def _bare(part: str) -> str:
    return _BEHIND.split(part.rpartition("@")[2], maxsplit=1)[0]


def _is_shown(name: str, value: Any) -> bool:
    return name in SHOWN or bool(_THRESHOLD.fullmatch(name) and _NUMBER.fullmatch(str(value)))
