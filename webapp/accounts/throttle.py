"""Slowing down guesses of passwords, without letting one client shut out another.

Failures are counted in the database (so also without Redis) per address, per name and network, per
name from everywhere, and per browser that the person signed in with before. A browser that knows
the name is held to its own count alone; all others to the three. An attempt is counted before the
password is looked at, so that many at once get no further than one after the other, and given back
where it succeeds. What is refused makes no new rows, so the table stays small whatever is tried.

django-allauth counts in the cache, which keeps languages and time zones apart and may be away:
``test_without_redis_it_counts_all_the_same``. It knows no browsers either.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone

from webapp.accounts.client_address import address_of, network_of
from webapp.accounts.devices import device_of
from webapp.accounts.models import SignInFailures


@dataclass(frozen=True)
class Limit:
    allowed: int
    window: timedelta


_QUARTER = timedelta(minutes=15)
LIMITS = {
    "address": Limit(10, _QUARTER),
    "name in network": Limit(10, _QUARTER),
    "name": Limit(
        50, timedelta(hours=1)
    ),  # As slow as one address alone has always been, wherever they all come from.
    "device": Limit(10, _QUARTER),
}
_CLOCKS_DIFFER = timedelta(minutes=1)


class Blocked(Exception):
    """Too many attempts failed."""


def begin(request: HttpRequest, user_name: str) -> dict[str, str]:
    """Count one attempt; raises :class:`Blocked` if there were too many.

    Kind of limit → what is counted by it.
    """
    now, name = timezone.now(), user_name.casefold()
    device = device_of(request)
    knows = device is not None and device.knows(user_name)
    subjects = {
        "address": _digest("address", address_of(request)),
        "name in network": _digest("name in network", network_of(request), name),
        "name": _digest("name", name),
        **({"device": _digest("device", device.nonce)} if device and knows else {}),
    }
    held_to = (
        {"device"}
        if knows and _room({"device": subjects["device"]}, now) > 0
        else set(subjects) - {"device"}
    )
    checked = {kind: subjects[kind] for kind in held_to}
    if _room(checked, now) <= 0:
        raise Blocked
    for kind, subject in subjects.items():
        _count(subject, LIMITS[kind].window, now)
    if _room(checked, now) < 0:
        raise Blocked
    return subjects


def succeeded(subjects: dict[str, str]) -> None:
    """The address and the name keep what others failed: one good account must not pay for guessing
    at others, nor one visit for guesses.
    """
    kept = [subjects[kind] for kind in ("address", "name")]
    SignInFailures.objects.filter(subject__in=kept, count__gt=0).update(count=F("count") - 1)
    SignInFailures.objects.filter(subject__in=set(subjects.values()) - set(kept)).delete()


def _room(subjects: dict[str, str], now: datetime) -> int:
    """How many attempts the tightest limit still allows; below zero where it is exceeded."""
    rows = SignInFailures.objects.filter(subject__in=subjects.values()).values_list(
        "subject", "count", "window_start"
    )
    counts = {subject: (count, since) for subject, count, since in rows}
    counted = ((LIMITS[kind], *counts.get(subject, (0, now))) for kind, subject in subjects.items())
    return min(
        limit.allowed - (count if _is_current(since, limit.window, now) else 0)
        for limit, count, since in counted
    )


def _count(subject: str, window: timedelta, now: datetime) -> None:
    row, is_new = SignInFailures.objects.get_or_create(
        subject=subject, defaults={"count": 1, "window_start": now}
    )
    if is_new:
        return
    same = SignInFailures.objects.filter(pk=row.pk)
    if _is_current(row.window_start, window, now):
        same.update(count=F("count") + 1)
    else:
        same.update(count=1, window_start=now)


def _is_current(since: datetime, window: timedelta, now: datetime) -> bool:
    """A row of the future is of a clock that was wrong: it must not shut anybody out until then."""
    return now - window < since <= now + _CLOCKS_DIFFER


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()
