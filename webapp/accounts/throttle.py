"""Limits password guesses, without letting one client shut out another. Failures are counted in the
database per address, per name and network, per name, and per known browser
(:mod:`webapp.accounts.devices`). A browser that knows the name is limited by its own count only. An
attempt counts before its password is checked, and is given back on success. Refused attempts create
no rows. django-allauth counts in the cache, which may be away, and knows no browsers.
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
    """Count one attempt. Returns the counted subjects by kind of limit. Raises :class:`Blocked`."""
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
    """Address and name keep the failures of others."""
    shared = [subjects[kind] for kind in ("address", "name")]
    SignInFailures.objects.filter(subject__in=shared, count__gt=0).update(count=F("count") - 1)
    SignInFailures.objects.filter(subject__in=set(subjects.values()) - set(shared)).delete()


def _room(subjects: dict[str, str], now: datetime) -> int:
    """Attempts that the tightest limit still allows; negative if exceeded."""
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
    """False for a row in the future, from a wrong clock."""
    return now - window < since <= now + _CLOCKS_DIFFER


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()
