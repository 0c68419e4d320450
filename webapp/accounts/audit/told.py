"""What an entry tells of what was entered: fields that are known to hold no secret, short, and redacted all the same."""

import re
from collections.abc import Mapping
from typing import Any

from ingest.redaction.texts import redact

SHOWN = frozenset(
    (
        "all", "apply", "audit_every_h", "below", "cluster", "clusters", "days", "destination", "digest", "disable", "enabled",
        "ends_at", "endpoint", "every", "every_s", "everything", "folder", "format", "from", "grants", "hours", "is_active", "job",
        "job_id", "jobs", "key", "kind", "language", "lasts_s", "matchers", "min_severity", "name", "names", "nothing", "order",
        "page", "pause", "plan", "purge", "remove", "replication", "role", "root", "roots", "rule", "scope", "sees", "sees_everything",
        "sees_only", "severity", "since", "size", "starts_at", "state", "stop", "subject", "time_of_day", "to", "uid", "undo",
        "until", "uri", "user", "username", "value", "verb", "waste", "weekday", "which", "withdraw", "zone",
    )
)  # fmt: skip
"""An allow-list: addresses hold passwords, comments hold whatever people paste."""

NAMING = ("uid", "name", "uri", "plan", "username", "user", "subject", "key", "rule", "matchers", "root", "roots", "job", "jobs", "cluster")
"""Fields that say what it is done to, the most telling one first."""

LONGEST, MOST_FIELDS, MOST_ITEMS = 200, 20, 10
_THRESHOLD = re.compile(r"[a-z_]{1,40}(\.[a-z0-9_]{1,60}){1,3}")
_NUMBER = re.compile(r"-?[0-9.,]{1,20}")


def details(entered: Mapping[str, Any]) -> dict[str, str]:
    """Field → text. Thresholds are fields named by their key."""
    found = {name: text(value) for name, value in entered.items() if _is_shown(str(name), value) and text(value)}
    return dict(list(found.items())[:MOST_FIELDS])


def subject(told: Mapping[str, str]) -> str:
    return next((told[name] for name in NAMING if name in told), "")


def text(value: Any) -> str:
    if value is None or value is False:
        return ""
    if isinstance(value, (list, tuple)):
        more = ", …" if len(value) > MOST_ITEMS else ""
        return text(", ".join(text(one) for one in value[:MOST_ITEMS]) + more)
    if isinstance(value, dict):
        return text(" ".join(text(one) for one in list(value.values())[:MOST_ITEMS]))
    plain = redact(str(value)[: 4 * LONGEST].replace("\x00", "�").strip())
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"


def _is_shown(name: str, value: Any) -> bool:
    return name in SHOWN or bool(_THRESHOLD.fullmatch(name) and _NUMBER.fullmatch(str(value)))
