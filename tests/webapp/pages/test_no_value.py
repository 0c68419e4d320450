"""What is not known has a mark or words on every page; how Python or JavaScript write it is on
none.
"""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Field, ForeignKey
from django.test import Client

from tests.attacks.inhabited import inhabit, somebody
from tests.attacks.places import answered, places
from webapp.accounts.roles import Role
from webapp.alerting.models import Alert
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import Finding
from webapp.fleet.models import JobAnnotation, JobCurrent, JobException, JobStart, LogEvent
from webapp.hosts.models import HostEvent
from webapp.incidents.models import Incident
from webapp.pressure.models import PressureWindow
from webapp.storage.models import JobStorage, RootFigures, StorageAudit

pytestmark = pytest.mark.django_db

NO_VALUE = re.compile(r"(?<![\w.'/-])(?:None|nan|NaN|null|undefined|inf|Infinity)(?![\w'/-]|\.\w)")
OURS = re.compile(r"(?m)(?:^\W*|[.!?:] )None [a-z]")
"""Sentences that begin with the word."""
_NOT_READ = re.compile(r"<(script|style|pre|code)\b.*?</\1>|<[^>]*>", re.DOTALL)
ELSEWHERE = (
    "report-open",
    "report-download",
    "documentation",
    "documentation-page",
)
SPARSE = (
    JobCurrent,
    CheckpointFact,
    JobAnnotation,
    JobException,
    LogEvent,
    HostEvent,
    JobStart,
    PressureWindow,
    Finding,
    Incident,
    Alert,
    JobStorage,
    RootFigures,
    StorageAudit,
)
KEPT = {"incident", "cause", "group", "finding", "ended_at", "closed_at"}


def shown(client: Client) -> Iterator[tuple[str, str]]:
    for place, answer in answered(
        client,
        (one for one in places() if not (one.is_api or one.name in ELSEWHERE)),
    ):
        if not answer.get("Content-Type", "").startswith("text/html") or answer.streaming:
            continue
        assert answer.status_code < 500, place.label
        if answer.status_code == 200:
            yield place.label, unescape(_NOT_READ.sub("\n", answer.content.decode()))


def found_on(client: Client) -> dict[str, list[str]]:
    found = {}
    for label, text in shown(client):
        bare = OURS.sub(" ", text)
        if near := [
            bare[max(one.start() - 50, 0) : one.end() + 30] for one in NO_VALUE.finditer(bare)
        ]:
            found[label] = near
    return found


@pytest.fixture
def anybody(db: None, client: Client, tmp_path: Path, weir: Any) -> Client:
    client.force_login(somebody(Role.ADMIN, "olga"))
    inhabit(tmp_path)
    return client


def test_no_page_shows_how_a_program_writes_what_is_not_there(anybody: Client) -> None:
    assert not found_on(anybody)


@pytest.mark.long
def test_no_page_does_where_nothing_that_may_be_unknown_is_known(anybody: Client) -> None:
    for model in SPARSE:
        model.objects.update(
            **{one.name: None for one in model._meta.concrete_fields if may_be_unknown(one)}
        )
    assert not found_on(anybody)


def may_be_unknown(field: "Field[Any, Any]") -> bool:
    return field.null and not isinstance(field, ForeignKey) and field.name not in KEPT
