"""Limits password guesses, but no client can lock another one out. Failures are counted in the
database per address, per name and network, per name, and per known browser
(:mod:`webapp.accounts.devices`). A browser that knows the name is limited by its own count only. An
attempt counts before its password is checked; a success takes the count back. The cache, where
django-allauth counts, may be away.
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
    "name": Limit(50, timedelta(hours=1)),  # about what one address is allowed in an hour
    "device": Limit(10, _QUARTER),
}
_CLOCKS_DIFFER = timedelta(minutes=1)


class Blocked(Exception):
    pass


def begin(request: HttpRequest, user_name: str) -> dict[str, str]:
    """Count one attempt. Returns the subjects by kind of limit. Raises :class:`Blocked`."""
    now, name = timezone.now(), user_name.casefold()
    device = device_of(request)
    knows = device is not None and device.knows(user_name)
    subjects = {
        "address": _digest("address", address_of(request)),
        "name in network": _digest("name in network", network_of(request), name),
        "name": _digest("name", name),
        **({"device": _digest("device", device.nonce)} if device and knows else {}),
    }
    checked = {kind: subject for kind, subject in subjects.items() if kind != "device"}
    if knows and _attempts_left({"device": subjects["device"]}, now) > 0:
        checked = {"device": subjects["device"]}
    if _attempts_left(checked, now) <= 0:
        raise Blocked
    for kind, subject in subjects.items():
        _count(subject, LIMITS[kind].window, now)
    if _attempts_left(checked, now) < 0:
        raise Blocked
    return subjects


def count_success(subjects: dict[str, str]) -> None:
    """Take back one attempt of the address and the name, which other people share; forget all
    failures of the name in this network and of this browser.
    """
    shared = [subjects[kind] for kind in ("address", "name")]
    SignInFailures.objects.filter(subject__in=shared, count__gt=0).update(count=F("count") - 1)
    SignInFailures.objects.filter(subject__in=set(subjects.values()) - set(shared)).delete()


def _attempts_left(subjects: dict[str, str], now: datetime) -> int:
    """Attempts that the strictest limit allows; negative if it is exceeded."""
    rows = SignInFailures.objects.filter(subject__in=subjects.values()).values_list(
        "subject", "count", "window_start"
    )
    counts = {subject: (count, since) for subject, count, since in rows}
    attempts_left = []
    for kind, subject in subjects.items():
        limit = LIMITS[kind]
        count, since = counts.get(subject, (0, now))
        failures = count if _is_current(since, limit.window, now) else 0
        attempts_left.append(limit.allowed - failures)
    return min(attempts_left)


def _count(subject: str, window: timedelta, now: datetime) -> None:
    row, is_new = SignInFailures.objects.get_or_create(
        subject=subject, defaults={"count": 1, "window_start": now}
    )
    if is_new:
        return
    stored = SignInFailures.objects.filter(pk=row.pk)
    if _is_current(row.window_start, window, now):
        stored.update(count=F("count") + 1)
    else:
        stored.update(count=1, window_start=now)


def _is_current(since: datetime, window: timedelta, now: datetime) -> bool:
    """False for a window that begins in the future, by a wrong clock."""
    return now - window < since <= now + _CLOCKS_DIFFER


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()
