"""A real browser before a real server, with enough rows on every page."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client, override_settings
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from pytest_django.live_server_helper import LiveServer

from ingest.lake.store import Lake
from ingest.records import Observed, VertexMetrics
from tests.e2e.stored import fill_storage
from tests.webapp.analyses.filesystem_calls.builders import metadata_of
from tests.webapp.builders import (
    annotation,
    cluster,
    declined,
    event,
    exception,
    expired,
    fact,
    finding,
    job,
    occurrences,
    person,
    replica,
    start,
    window,
)
from tests.webapp.hosts.builders import happened_on
from tests.webapp.resources.builders import taskmanager
from webapp.accounts.models import User
from webapp.fleet.models import Cluster, JobCurrent

CHROMIUM = (
    os.environ.get("CHROMIUM", "")
    or shutil.which("chromium")
    or shutil.which("google-chrome")
    or ""
)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("Chromium is not installed; .ci/run installs it, or set CHROMIUM to its path")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's loop runs in this thread, and Django would take its database calls for
        # asynchronous ones.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker, tmp_path_factory) -> Iterator[str]:
    """Address of a server whose job ``clickstream`` shows every block of its page.

    What a test changes is rolled back.
    """
    home = tmp_path_factory.mktemp("site")
    weir = replace(
        settings.WEIR, home=home, lake_root=str(home / "lake"), runs_root=str(home / "runs")
    )
    with (
        django_db_blocker.unblock(),
        override_settings(WEIR=weir, ALLOWED_HOSTS=[*settings.ALLOWED_HOSTS, "localhost"]),
    ):
        cache.clear()
        fill(Lake(weir.lake_root))
        fill_storage(home, timezone.now())
        server = LiveServer("localhost")
        yield server.url
        server.stop()
        call_command("flush", interactive=False, verbosity=0)


def _let_requests_end(within_s: float = 20) -> None:
    """A page may still be asking for its charts when its test has seen enough; its changes are
    rolled back after this.
    """
    deadline = time.monotonic() + within_s
    while (
        any("process_request_thread" in thread.name for thread in threading.enumerate())
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)


def fill(lake: Lake) -> None:
    now = timezone.now().replace(microsecond=0)
    person("olga", operator=True)
    store = {
        "log_store_kind": "loki",
        "log_store_url": "http://loki:3100",
        "log_store_read_from": now - timedelta(hours=24),
    }
    cluster(at=now, log_store_read_to=now, **store)
    cluster(
        "dark",
        at=now - timedelta(hours=1),
        unreachable_since=now - timedelta(minutes=58),
        last_error=("http://jm:8081 did not answer in 10 s."),
        log_store_read_to=now - timedelta(hours=1),
        log_store_error=("Loki at http://loki:3100: It answered HTTP 401."),
        **store,
    )
    of = job(
        at=now,
        job_id="c" * 32,
        name="clickstream",
        recent_failed=5,
        checkpoint_timeout_ms=4_000,
        health=45,
    )
    job("dark", at=now - timedelta(hours=1), name="lost")
    job(at=now, name="<script>document.title='pwned'</script>" + "x" * 250)
    job(at=now, name="\u202eمرحبا")
    for number in range(1, 30):
        fact(of, number, now - timedelta(minutes=120 - 4 * number))
    expired(of, 30, now - timedelta(minutes=2))
    declined(of, 31, now - timedelta(minutes=1))
    fact(of, 32, now - timedelta(seconds=30), is_savepoint=True)
    annotation(of, "restart", now - timedelta(minutes=60), "restart 1")
    start(of, now - timedelta(minutes=59))
    replica(of, now - timedelta(minutes=2))
    for vertex_id in ("v1", "v2", "v3", "v4"):
        window(of, vertex_id, now - timedelta(minutes=1))
    occurrences(finding(of, at=now - timedelta(minutes=1)))
    finding(
        of,
        "data.skew",
        now,
        severity="warning",
        subject_id="v2",
        subject="parse",
        title="parse/0 has 90 % of the records",
        related=[],
    )
    event(
        of,
        "late_message",
        now,
        "Received late message for now expired checkpoint attempt 30",
        level="WARN",
        host="flink-tm-2",
    )
    exception(of, now - timedelta(minutes=60))
    happened_on("tm-1", of, now - timedelta(minutes=1))
    pools = {
        "in_pool_usage": (0.9, 0.1),
        "out_pool_usage": (0.2, None),
        "taskmanager_id": ("tm-1", "tm-2"),
    }
    samples = tuple(
        VertexMetrics(of.job_id, vertex_id, now - timedelta(minutes=minute), **pools)
        for vertex_id in ("v2", "v3")
        for minute in range(1, 60)
    )
    hosts = tuple(
        taskmanager(of.job_id, name, now - timedelta(minutes=age), age)
        for name in ("tm-1", "tm-2")
        for age in (9, 1)
    )
    lake.append(
        [
            Observed(of.cluster, now, "rest", (*samples, *hosts)),
            Observed("", now, "metadata", metadata_of(of.job_id)),
        ]
    )


def _bring_up_to_date(now: datetime) -> None:
    """What was heard of just now as the site was filled is so in each of its tests, however long
    those before it took.
    """
    Cluster.objects.exclude(name="dark").update(last_collected_at=now, last_success_at=now)
    JobCurrent.objects.exclude(cluster="dark").update(judged_at=now, last_seen_at=now)


@pytest.fixture
def context(browser: Browser, site: str) -> Iterator[BrowserContext]:
    """Closed before the test's changes go away: a browser left open goes on asking."""
    made = browser.new_context(viewport={"width": 1440, "height": 900})
    yield made
    made.close()
    _let_requests_end()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser's console said that it should not have: errors, warnings, breaches of the
    content policy.
    """
    return []


@pytest.fixture
def page(db: None, context: BrowserContext, site: str, complaints: list[str]) -> Page:
    """A signed-in page that shows nothing yet."""
    _bring_up_to_date(timezone.now())
    client = Client()
    client.force_login(User.objects.get(username="olga"))
    context.add_cookies(
        [
            {"name": name, "value": cookie.value, "url": site}
            for name, cookie in client.cookies.items()
        ]
    )
    opened = context.new_page()
    opened.on(
        "console",
        lambda message: (
            complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    return opened
