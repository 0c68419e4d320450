"""How long a sign-in lasts, and how many requests one may make in a minute."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import person
from tests.weir_settings import WeirSettings
from webapp.accounts.models import ApiToken, AuditEntry
from webapp.config import breaker
from webapp.pipeline import retention

pytestmark = pytest.mark.django_db
BACKGROUND = {"Sec-Fetch-Mode": "cors"}


@pytest.fixture
def clock() -> Iterator[Any]:
    with time_machine.travel(timezone.now().replace(second=1), tick=False) as travelled:
        cache.clear()
        yield travelled


@pytest.fixture
def ann(clock: Any, weir: WeirSettings) -> Client:
    weir(session_age_s=12 * 3600, session_idle_s=3600)
    client = Client()
    client.force_login(person("ann"))
    return client


def is_signed_in(client: Client, **headers: str) -> bool:
    return client.get("/account/", headers=headers).status_code == 200


def test_whoever_does_nothing_for_the_idle_time_is_signed_out_and_told_why(
    ann: Client, clock: Any
) -> None:
    clock.shift(timedelta(minutes=59))
    assert is_signed_in(ann)
    clock.shift(timedelta(minutes=59))
    assert is_signed_in(ann)
    clock.shift(timedelta(minutes=61))
    assert (
        "You were not active for a while. Sign in again."
        in ann.get("/account/", follow=True).content.decode()
    )
    assert not is_signed_in(ann)


def test_what_a_page_fetches_by_itself_keeps_no_session(ann: Client, clock: Any) -> None:
    for _ in range(5):
        assert is_signed_in(ann, **BACKGROUND)
        clock.shift(timedelta(minutes=11))
    clock.shift(timedelta(minutes=6))
    assert not is_signed_in(ann, **BACKGROUND)


def test_no_session_lasts_longer_than_is_set_however_busy(ann: Client, clock: Any) -> None:
    for _ in range(23):
        clock.shift(timedelta(minutes=31))
        assert is_signed_in(ann)
    clock.shift(timedelta(minutes=31))
    assert not is_signed_in(ann)


def test_with_no_idle_time_only_the_age_ends_it(
    ann: Client, clock: Any, weir: WeirSettings
) -> None:
    weir(session_idle_s=0)
    clock.shift(timedelta(hours=11))
    assert is_signed_in(ann)


def test_a_page_writes_to_the_session_once_a_minute_at_most(ann: Client, clock: Any) -> None:
    before = ann.session["active_at"]
    clock.shift(timedelta(seconds=30))
    ann.get("/account/")
    assert ann.session["active_at"] == before
    clock.shift(timedelta(seconds=31))
    ann.get("/account/")
    assert ann.session["active_at"] == before + 61


def test_sessions_that_ended_do_not_stay_in_the_table(ann: Client, clock: Any) -> None:
    rule = next(rule for rule in retention.RULES_OF_WEIR if rule.model is Session)
    assert not rule.old(timezone.now()).exists()
    clock.shift(timedelta(hours=14))
    assert rule.old(timezone.now()).count() == 1


def by_token(text: str, path: str = "/api/v1/jobs/") -> Any:
    return Client().get(path, headers={"Authorization": f"Bearer {text}"})


def test_a_token_that_asks_too_often_waits_and_is_told_how_long(
    clock: Any, weir: WeirSettings
) -> None:
    weir(requests_per_min=3)
    ann = person("ann")
    busy, other = (ApiToken.objects.issue(ann, name)[1] for name in ("busy", "other"))
    assert [by_token(busy).status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = by_token(busy)
    assert 0 < int(refused["Retry-After"]) <= 60
    assert refused.json()["error"]["code"] == "throttled"
    assert by_token(other).status_code == 200
    clock.shift(timedelta(seconds=int(refused["Retry-After"])))
    assert by_token(busy).status_code == 200


def test_forms_have_the_limit_too_and_fill_no_audit_log_beyond_it(
    ann: Client, weir: WeirSettings
) -> None:
    weir(requests_per_min=3)
    answers = [ann.post(reverse("silence-new"), {}) for _ in range(5)]
    assert [answer.status_code == 429 for answer in answers] == [False, False, False, True, True]
    assert "Retry-After" in answers[-1]
    assert AuditEntry.objects.count() == 3
    assert is_signed_in(ann)


def test_a_write_by_token_beyond_the_limit_leaves_no_entry(clock: Any, weir: WeirSettings) -> None:
    weir(requests_per_min=1)
    _, text = ApiToken.objects.issue(person("olga", operator=True), "ci", "write")
    for _ in range(3):
        Client().post("/api/v1/silences/", {}, headers={"Authorization": f"Bearer {text}"})
    assert AuditEntry.objects.count() == 1


def test_no_limit_holds_where_redis_does_not_answer(
    clock: Any, weir: WeirSettings, settings: Any
) -> None:
    weir(requests_per_min=1)
    settings.CACHES = {
        "default": {
            **settings.CACHES["default"],
            "BACKEND": "webapp.config.cache.ForgivingRedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
        }
    }
    _, text = ApiToken.objects.issue(person("ann"), "ci")
    try:
        assert [by_token(text).status_code for _ in range(3)] == [200, 200, 200]
    finally:
        breaker.redis._opened_at = None
