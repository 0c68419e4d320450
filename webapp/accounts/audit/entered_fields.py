"""What an entry contains of what was entered: fields that hold no secret, shortened and redacted."""

import re
from collections.abc import Mapping
from typing import Any

from ingest.redaction.texts import redact
from ingest.source_registry import settings

SHOWN = frozenset(
    (
        "all",
        "apply",
        "below",
        "cluster",
        "clusters",
        "days",
        "destination",
        "digest",
        "disable",
        "enabled",
        "endpoint",
        "ends_at",
        "every",
        "every_s",
        "everything",
        "folder",
        "format",
        "from",
        "grants",
        "hours",
        "is_active",
        "job",
        "job_id",
        "jobs",
        "key",
        "kind",
        "language",
        "lasts_s",
        "matchers",
        "min_severity",
        "name",
        "names",
        "nothing",
        "order",
        "owner",
        "page",
        "pause",
        "plan",
        "purge",
        "remove",
        "role",
        "root",
        "roots",
        "rule",
        "scope",
        "sees",
        "sees_everything",
        "sees_only",
        "severity",
        "since",
        "size",
        "starts_at",
        "state",
        "stop",
        "subject",
        "take_back",
        "time_of_day",
        "to",
        "uid",
        "undo",
        "until",
        "uri",
        "user",
        "username",
        "value",
        "verb",
        "waste",
        "weekday",
        "which",
        "withdraw",
        "zone",
    )
)
"""Addresses may contain passwords, and comments anything."""

TRIED = "cluster.test"
_ASKED = settings("address", "place", "places")
_OF_A_CLUSTER = tuple(setting.field for setting in _ASKED)
_OF_THE_COMMAND = tuple(
    setting.option[2:].replace("-", "_") for setting in _ASKED if setting.option
)
ADDRESSES = {TRIED: _OF_A_CLUSTER, "cluster.add": (*_OF_A_CLUSTER, *_OF_THE_COMMAND)}
"""Action that connects to somebody → fields with its addresses."""
TYPED_NAME = "name_as_typed"

NAMING = (
    "uid",
    "name",
    "uri",
    "plan",
    "username",
    "user",
    "subject",
    "key",
    "rule",
    "matchers",
    "root",
    "roots",
    "job",
    "jobs",
    "cluster",
)
"""Fields that identify the subject, the most telling first."""

LONGEST, MOST_FIELDS, MOST_ITEMS = 200, 20, 10
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
    return dict(
        list(({name: told for name, told in asked.items() if told} | fields).items())[:MOST_FIELDS]
    )


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
    """A path, or a URI without user, password, query and fragment."""
    if written.startswith("/"):
        return written
    scheme, mark, rest = written.partition("://")
    return f"{_bare(scheme)}{mark}{_bare(rest)}"


def _bare(part: str) -> str:
    return _BEHIND.split(part.rpartition("@")[2], maxsplit=1)[0]


def _is_shown(name: str, value: Any) -> bool:
    return name in SHOWN or bool(_THRESHOLD.fullmatch(name) and _NUMBER.fullmatch(str(value)))
