"""Pages in the zone that was chosen: every time on every page moves with it, or says that it is
UTC; machines get UTC.
"""

import re
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.attacks.inhabited import inhabit, somebody
from tests.attacks.places import places
from tests.webapp.builders import finding, job, person
from webapp.accounts.models import AuditEntry, User
from webapp.accounts.roles import Role
from webapp.alerting.models import Silence

ZONE = "Asia/Kathmandu"
AHEAD_MIN = 345
"""No zone of full hours: a time that did not move is seen whatever it is."""
A_MOMENT_S = 60
ELSEWHERE = (
    "report-open",
    "report-download",
    "documentation",
    "documentation-page",
    "healthz",
    "readyz",
)
"""The file of a report is handed on, and in UTC, which its foot says; documentation has times in
examples.
"""
_TIME = re.compile(r"(?<![\d:.+-])(\d\d):(\d\d)(?::(\d\d))?(?![\d:])(?: (UTC))?")
_NOT_READ = re.compile(r"<(script|style|pre|code)\b.*?</\1>|<[^>]*>", re.DOTALL)


@pytest.fixture
def viewer(db: None, client: Client) -> Client:
    client.force_login(somebody(Role.ADMIN, "olga"))
    return client


def _chosen(client: Client, zone: str, **more: str) -> Any:
    return client.post("/account/time-zone/", {"zone": zone, "next": "/findings/", **more})


def _clocks(content: str) -> list[tuple[int, bool]]:
    """Seconds of the day as texts have them, and whether UTC stands behind."""
    text = unescape(_NOT_READ.sub(" ", content))
    return [
        (int(h) * 3600 + int(m) * 60 + int(s or 0), bool(utc))
        for h, m, s, utc in _TIME.findall(text)
        if int(h) < 24 and int(m) < 60
    ]


def _pages(client: Client) -> Iterator[tuple[str, list[tuple[int, bool]]]]:
    for place in places():
        if place.is_api or place.name in ELSEWHERE:
            continue
        cache.clear()
        answer = client.get(place.filled(known=True), place.asks_for)
        if (
            answer.status_code == 200
            and answer.headers.get("Content-Type", "").startswith("text/html")
            and not answer.streaming
        ):
            yield place.name, _clocks(answer.content.decode())


@pytest.mark.long
def test_every_time_on_every_page_moves_with_the_zone_or_says_utc(
    viewer: Client, tmp_path: Path, weir: Any
) -> None:
    inhabit(tmp_path)
    utc = dict(_pages(viewer))
    viewer.cookies["weir_zone"] = ZONE
    local = dict(_pages(viewer))
    wrong: list[tuple[str, Any, Any]] = []
    for name, before in utc.items():
        after = local.get(name, [])
        if len(before) != len(after):
            wrong.append((name, len(before), len(after)))
            continue
        for (was, _), (now, says_utc) in zip(before, after, strict=True):
            stayed = (now - was + A_MOMENT_S) % 86_400 <= 2 * A_MOMENT_S
            moved = (now - was - AHEAD_MIN * 60 + A_MOMENT_S) % 86_400 <= 2 * A_MOMENT_S
            if says_utc != stayed or says_utc == moved:
                wrong.append(
                    (
                        name,
                        f"{was // 3600:02d}:{was // 60 % 60:02d}",
                        f"{now // 3600:02d}:{now // 60 % 60:02d}",
                    )
                )
    assert sum(map(len, utc.values())) > 200
    assert not wrong


def test_the_switch_is_kept_with_the_account_and_noted(viewer: Client) -> None:
    answer = _chosen(viewer, "Europe/Berlin")
    assert (
        answer["Location"] == "/findings/"
        and User.objects.get(username="olga").time_zone == "Europe/Berlin"
    )
    assert AuditEntry.objects.get(action="time-zone.choose").details == {"zone": "Europe/Berlin"}


def test_the_account_brings_its_zone_to_the_next_browser(db: None) -> None:
    person("vera")
    User.objects.filter(username="vera").update(time_zone="Asia/Shanghai")
    other = Client()
    other.post("/sign-in/", {"username": "vera", "password": "correct horse battery"})
    assert "+08:00" in other.get("/findings/").content.decode()


def test_local_is_the_zone_that_the_browser_said(viewer: Client) -> None:
    viewer.cookies["weir_browser_zone"] = "Asia/Shanghai"
    _chosen(viewer, "local")
    text = viewer.get("/findings/").content.decode()
    expected = datetime.now(UTC).astimezone(zoneinfo.ZoneInfo("Asia/Shanghai"))
    assert re.search(rf"page made {expected:%Y-%m-%d %H}:[0-9:]{{5}} \+08:00", text)


@pytest.mark.parametrize(
    "zone", ["", "../etc/passwd", "Mars/Olympus", "right/UTC", "x" * 5_000, "\x00"]
)
def test_what_is_no_zone_is_none(viewer: Client, zone: str) -> None:
    assert _chosen(viewer, zone).status_code == 400
    viewer.cookies["weir_zone"] = re.sub(r"[^ -~]", "", zone)[:2_000]
    assert re.search(r"page made \S+ \S+ UTC", viewer.get("/findings/").content.decode())


def test_local_without_a_browser_that_says_its_zone_leads_to_the_list_of_zones(
    viewer: Client,
) -> None:
    assert _chosen(viewer, "local")["Location"] == "/account/"
    assert "<option>Asia/Shanghai</option>" in viewer.get("/account/").content.decode()


def test_the_switch_leads_to_no_other_host(viewer: Client) -> None:
    assert _chosen(viewer, "UTC", next="https://evil.example/")["Location"] == "/"


def test_a_range_typed_in_the_zone_becomes_an_address_in_utc(viewer: Client) -> None:
    _chosen(viewer, "Asia/Shanghai")
    answer = viewer.get(
        "/findings/",
        {"from": "2026-11-21 12:10", "to": "now", "zone": "Asia/Shanghai", "rule": "x"},
    )
    assert answer["Location"] == "/findings/?from=2026-11-21T04%3A10%3A00Z&to=now&rule=x"


def test_a_silence_ends_when_its_form_said_in_its_zone(viewer: Client) -> None:
    _chosen(viewer, "Asia/Shanghai")
    until = (datetime.now(UTC) + timedelta(hours=5)).replace(second=0, microsecond=0)
    typed = f"{until.astimezone(zoneinfo.ZoneInfo('Asia/Shanghai')):%Y-%m-%d %H:%M}"
    viewer.post(
        reverse("silence-new"),
        {"matchers": 'cluster="a"', "ends_at": typed, "reason": "deploy", "zone": "Asia/Shanghai"},
    )
    assert Silence.objects.get().ends_at == until


def test_machines_get_utc_whatever_their_person_chose(viewer: Client) -> None:
    """The same bytes, but for what differs from one moment to the next."""
    now = datetime.now(UTC)
    finding(job(at=now), "checkpoint.expired", now)
    _chosen(viewer, "UTC")
    addresses = (
        "/api/v1/findings/",
        reverse("fleet-export"),
        reverse("access-audit-export"),
    )
    before = [b"".join(answer) for answer in map(viewer.get, addresses)]
    viewer.cookies["weir_zone"] = ZONE
    assert all(f"{now:T%H:%M}".encode() in answer for answer in before)
    assert [b"".join(answer) for answer in map(viewer.get, addresses)] == before


def test_a_zone_costs_no_query(viewer: Client) -> None:
    def queries() -> int:
        cache.clear()
        with CaptureQueriesContext(
            connection,
        ) as seen:
            viewer.get("/findings/")
        return len(seen)

    before = queries()
    viewer.cookies["weir_zone"] = ZONE
    assert queries() == before
