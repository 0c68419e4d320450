from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import Any

from django.utils import timezone

from webapp.accounts.models import User
from webapp.alerting.actions import clean, end_silence, silence
from webapp.alerting.forms import MOST_REASON
from webapp.alerting.models import Silence
from webapp.lib.matchers import as_entered
from webapp.lib.refusals import InputRefused
from webapp.site.declared.kind import MATCHERS, Entry, Kind, matcher_texts, parsed_matchers

_INSTANT = {"type": "string", "description": "with its UTC offset, such as 2026-11-21T18:00:00Z"}
AUTHOR = User(username="files")
LONGEST_IN_KEY = 400


class Silences(Kind):
    """Silences that are not over. One that a person ended early is begun again by an apply."""

    name = "silences"
    columns = frozenset({"matchers", "reason", "starts_at", "ends_at"})
    required = ("matchers", "starts_at", "ends_at", "reason")

    @cached_property
    def properties(self) -> dict[str, dict[str, Any]]:
        return {
            "matchers": {**MATCHERS, "minItems": 1},
            "starts_at": _INSTANT,
            "ends_at": _INSTANT,
            "reason": {"type": "string", "minLength": 1, "maxLength": MOST_REASON},
        }

    def rows(self) -> Any:
        return Silence.objects.filter(ends_at__gt=timezone.now()).order_by("starts_at", "id")

    def key(self, entry: Entry) -> str:
        """Long matchers by their digest: a key has a column of limited length."""
        matchers = " ".join(entry["matchers"])
        if len(matchers) > LONGEST_IN_KEY:
            matchers = f"{matchers[:100]}… {sha256(matchers.encode()).hexdigest()}"
        return f"{matchers} from {entry['starts_at']}"

    def is_over(self, entry: Entry) -> bool:
        return _instant(entry["ends_at"]) <= timezone.now()

    def normalised(self, entry: Entry) -> Entry:
        matchers = matcher_texts(parsed_matchers(entry))
        instants = {name: _text(_instant(entry[name])) for name in ("starts_at", "ends_at")}
        return {"matchers": matchers, **instants, "reason": clean(entry["reason"])}

    def entry(self, row: Silence) -> Entry:
        return {
            "matchers": matcher_texts(as_entered(row.matchers)),
            "starts_at": _text(row.starts_at),
            "ends_at": _text(row.ends_at),
            "reason": row.reason,
        }

    def write(self, row: Any | None, entry: Entry, secrets: Mapping[str, str]) -> list[str]:
        matchers = parsed_matchers(entry)
        starts_at, ends_at = _instant(entry["starts_at"]), _instant(entry["ends_at"])
        silence(matchers, starts_at, ends_at, entry["reason"], AUTHOR, timezone.now())
        if row is not None:
            row.delete()
        return []

    def remove(self, row: Silence) -> None:
        end_silence(row, AUTHOR, timezone.now())


def _instant(text: str) -> datetime:
    """Raises :class:`InputRefused`."""
    with suppress(ValueError, OverflowError):
        instant = datetime.fromisoformat(text)
        if instant.tzinfo is not None:
            return instant.astimezone(UTC).replace(microsecond=0)
    raise InputRefused(
        f"{text[:40]} is not a time with a UTC offset, such as 2026-11-21T18:00:00Z."
    )


def _text(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
