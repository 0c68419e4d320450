"""Alerts over the API: who may read and write, what is refused, and that every act leaves its
author.
"""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from tests.webapp.alerting.builders import opened, the_alert
from tests.webapp.builders import person
from webapp.accounts.models import ApiToken
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert, Silence

pytestmark = pytest.mark.django_db
MATCHERS = [{"label": "cluster", "operator": "=", "value": "prod-eu"}]


def client(scope: str, *, operator: bool = True) -> APIClient:
    made = APIClient()
    user = person(f"{scope}-{operator}", operator=operator)
    made.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiToken.objects.issue(user, 'test', scope)[1]}")
    return made


@pytest.fixture
def reader() -> APIClient:
    return client("read")


@pytest.fixture
def writer() -> APIClient:
    return client("write")


@pytest.fixture
def firing() -> Alert:
    at = timezone.now()
    opened(0, first_seen=at, last_seen=at, as_of=at)
    evaluate(at)
    return the_alert()


def of(firing: Alert, verb: str) -> str:
    return reverse(f"api-alerts-{verb}", args=(firing.uid,))


def test_alerts_are_listed_and_read_with_their_story(reader, firing):
    (row,) = reader.get(reverse("api-alerts-list"), {"state": "firing"}).json()["results"]
    assert (row["uid"], row["group"], row["state"]) == (
        firing.uid,
        "prod-eu/checkpoint",
        "firing",
    ) and "id" not in row
    assert [event["kind"] for event in reader.get(of(firing, "detail")).json()["events"]] == [
        "fired"
    ]


def test_an_alert_is_acknowledged_once(writer, reader, firing):
    assert reader.post(of(firing, "acknowledge"), {}, format="json").status_code == 403
    answer = writer.post(of(firing, "acknowledge"), {"comment": "INC-7"}, format="json")
    assert (
        answer.json()["acknowledged_name"] == "write-True"
        and answer.json()["acknowledge_comment"] == "INC-7"
    )
    assert writer.post(of(firing, "acknowledge"), {}, format="json").status_code == 409
    assert writer.post(of(firing, "take-back"), {}, format="json").json()["acknowledged_at"] is None


def test_a_silence_is_made_and_ended(writer):
    until = (timezone.now() + timedelta(hours=1)).isoformat()
    answer = writer.post(
        reverse("api-silences-list"),
        {"matchers": MATCHERS, "reason": "known", "ends_at": until},
        format="json",
    )
    assert answer.status_code == 201 and answer.json()["author_name"] == "write-True"
    end = reverse("api-silences-end", args=(Silence.objects.get().pk,))
    assert writer.post(end).json()["ended_name"] == "write-True"
    assert writer.post(end).status_code == 409


@pytest.mark.parametrize(
    "wrong",
    [
        {"matchers": []},
        {"matchers": [{"label": "job", "operator": "=~", "value": "("}]},
        {"matchers": [{"label": "job", "operator": "~", "value": "a"}]},
        {"matchers": MATCHERS * 11},
        {"reason": ""},
        {"ends_at": "2020-01-01T00:00:00Z"},
        {"ends_at": "2099-01-01T00:00:00Z"},
    ],
)
def test_a_silence_that_makes_no_sense_is_refused(writer, wrong):
    good = {
        "matchers": MATCHERS,
        "reason": "known",
        "ends_at": (timezone.now() + timedelta(hours=1)).isoformat(),
    }
    answer = writer.post(reverse("api-silences-list"), {**good, **wrong}, format="json")
    assert (
        answer.status_code == 400
        and answer.json()["error"]["message"]
        and not Silence.objects.exists()
    )
