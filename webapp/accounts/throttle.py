"""Slowing down who guesses passwords: failures are counted per address and per user name, in the database.

An address that has used up its failures makes no new rows, so the table stays small whatever is tried.
"""

import hashlib
from datetime import timedelta

from django.conf import settings
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone

from webapp.accounts.models import SignInFailures


def is_blocked(request: HttpRequest, user_name: str) -> bool:
    recent = timezone.now() - _window()
    failures = SignInFailures.objects.filter(subject__in=_subjects(request, user_name), window_start__gt=recent)
    return failures.filter(count__gte=settings.SIGN_IN_FAILURES_ALLOWED).exists()


def note_failure(request: HttpRequest, user_name: str) -> None:
    now = timezone.now()
    for subject in _subjects(request, user_name):
        row, is_new = SignInFailures.objects.get_or_create(subject=subject, defaults={"count": 1, "window_start": now})
        if is_new:
            continue
        if row.window_start <= now - _window():
            SignInFailures.objects.filter(pk=row.pk).update(count=1, window_start=now)
        else:
            SignInFailures.objects.filter(pk=row.pk).update(count=F("count") + 1)


def forget_failures(user_name: str) -> None:
    """After a success. The address keeps its count: one good account must not pay for guessing at others."""
    SignInFailures.objects.filter(subject=_digest("user", user_name.casefold())).delete()


def _subjects(request: HttpRequest, user_name: str) -> tuple[str, str]:
    return _digest("address", _address(request)), _digest("user", user_name.casefold())


def _address(request: HttpRequest) -> str:
    """The client's; behind a declared proxy the last hop that proxy noted, which a client cannot forge."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.WEIR.behind_proxy else ""
    return forwarded.rpartition(",")[2].strip() or str(request.META.get("REMOTE_ADDR", ""))


def _digest(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind}\0{text}".encode()).hexdigest()


def _window() -> timedelta:
    return timedelta(seconds=settings.SIGN_IN_WINDOW_S)
