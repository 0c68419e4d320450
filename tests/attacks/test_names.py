"""Whoever may name a job, a task or an operator, or make one fail with a text of their own, writes
to all who look at Weir.

Every text of every row becomes hostile; then everything is read back: pages, what refreshes in
them, downloads, the API, reports, notices. Nothing of it is anything but text, and nothing breaks.
"""

import csv
import io
import json
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tests.attacks.inhabited import somebody
from tests.attacks.names import CANARY, FORMULAS, LONG, NAMES, documents, poison, texts
from tests.attacks.places import Place, content_of, places
from tests.attacks.scale import examples
from webapp.accounts.roles import Role
from webapp.alerting.models import Alert
from webapp.findings.models import Finding
from webapp.fleet.models import JobCurrent, JobException, LogEvent
from webapp.lib.scoped_rows import JobKey
from webapp.reports import orders, work_keys
from webapp.reports.report_scope import checked
from webapp.storage.models import StorageRoot
from webapp.work.perform import perform

RUN = ("script", "iframe", "object", "embed", "svg", "img", "base", "link", "meta", "form")
URLS = ("href", "src", "action", "formaction", "hx-get", "hx-post", "xlink:href")


class Reader(HTMLParser):
    """Reads a page as a browser does and notes what would act."""

    def __init__(self) -> None:
        super().__init__()
        self.acting: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            text = (value or "").strip().lower()
            if name.startswith("on") or (
                name in URLS and text.startswith(("javascript:", "data:text", "//"))
            ):
                self.acting.append(f"<{tag} {name}={value!r}>")
            if (
                tag in RUN
                and CANARY in (value or "")
                and name in ("src", "onerror", "onload", "style")
            ):
                self.acting.append(f"<{tag} {name}={value!r}>")

    def handle_comment(self, data: str) -> None:
        if CANARY in data:
            self.acting.append(f"<!--{data[:80]}")


def acting(page: str) -> list[str]:
    reader = Reader()
    reader.feed(page)
    marks = [f"<script>{CANARY}", f"<svg onload={CANARY}", f"onerror={CANARY}()>", "210003"]
    return reader.acting + [mark for mark in marks if mark in page]


def wrong(place: Place, answer: Any) -> list[str]:
    """What of an answer is more than text."""
    if answer.status_code >= 500:
        return [f"status {answer.status_code}"]
    if any("owned" in f"{name}{value}" for name, value in answer.headers.items()):
        return ["a header of theirs"]
    body = content_of(answer)
    text, kind = body.decode(), answer.headers.get("Content-Type", "")
    if kind.startswith("text/html"):
        return acting(text)
    if kind.startswith("text/csv"):
        cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        return [
            cell[:80]
            for cell in cells
            if cell.lstrip(" \ufeff\xa0\u200b\u3000").startswith(FORMULAS) and not _is_number(cell)
        ]
    if "json" in kind:
        json.loads(text)
    return []


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def report(of: JobCurrent) -> None:
    """Made of what is hostile by now."""
    now = timezone.now()
    made = orders.request_report(
        checked([JobKey(of.cluster, of.job_id)], now - timedelta(hours=1), now),
        user=None,
        name="olga",
        at=now,
    )
    perform(work_keys.key_of(made.pk), even_if_not_due=True)


def read_everything(client: Client, look: Any = None) -> tuple[int, list[Any]]:
    tried, found = 0, []
    for place in [place for place in places() if place.template != "/readyz"]:
        answer = client.get(place.filled(known=True), place.asks_for)
        tried += answer.status_code == 200
        found += [(place.label, complaint) for complaint in (look or wrong)(place, answer)]
    return tried, found


@pytest.mark.parametrize("turn", range(0, len(NAMES), examples(len(NAMES), 3)))
def test_nothing_that_others_write_is_more_than_text(inhabited: JobCurrent, turn: int) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(somebody(Role.ADMIN, is_superuser=True))
    assert poison(turn) > 150
    report(inhabited)
    tried, found = read_everything(client)
    assert tried > 100
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize("name", NAMES[:: examples(3, 1)])
def test_an_alert_and_a_root_of_any_name_are_shown(inhabited: object, name: str) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(somebody(Role.OPERATOR))
    Alert.objects.update(subject=name)
    StorageRoot.objects.update(read_at=name[:1_000], quarantine_uri=name[:1_000])
    for place in [
        place
        for place in places()
        if place.name
        in ("alert", "storage-xray", "api-storage-xray", "storage-root", "storage-root-edit")
    ]:
        assert not wrong(place, client.get(place.filled(known=True), place.asks_for)), place.name


@pytest.mark.long
def test_what_is_a_megabyte_long_breaks_nothing(inhabited: JobCurrent) -> None:
    """Columns without a limit: a stack trace, a message, the title of a finding."""
    client = Client(raise_request_exception=False)
    client.force_login(somebody(Role.OPERATOR))
    for model in (JobException, LogEvent, Finding, Alert):
        for name in [
            field.name for owner, field in texts() if owner is model and field.max_length is None
        ]:
            model.objects.update(**{name: LONG})
    _tried, found = read_everything(client, raw)
    assert not found, "\n".join(map(str, found))


def raw(place: Place, answer: Any) -> list[str]:
    """Quicker than to read a megabyte as a browser does."""
    is_page = answer.headers.get("Content-Type", "").startswith("text/html")
    body = content_of(answer)
    return (
        [f"status {answer.status_code}"]
        if answer.status_code >= 500
        else ["raw"]
        if is_page and LONG[:20].encode() in body
        else []
    )


def test_the_walk_over_columns_is_no_short_one() -> None:
    assert len(list(texts())) > 90
    assert len(list(documents())) > 15
