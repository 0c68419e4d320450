"""Reports over the API."""

import pytest
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from tests.webapp.builders import T0, person
from tests.webapp.reports.stories import expiring, scope, seen
from webapp.accounts.models import ApiToken
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.reports import orders, work_keys
from webapp.reports.models import IncidentReport
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db
LIST = "/api/v1/reports/"


@pytest.fixture
def of():
    seen()
    return expiring()


@pytest.fixture
def reader(db) -> APIClient:
    client = APIClient()
    client.credentials(
        HTTP_AUTHORIZATION=f"Bearer {ApiToken.objects.issue(person('r', operator=True), 't')[1]}"
    )
    return client


def wanted(of) -> dict:
    return {
        "jobs": [{"cluster": of.cluster, "job_id": of.job_id}],
        "from": "2026-03-01T03:40:00Z",
        "to": "2026-03-01T04:40:00Z",
    }


def test_a_report_is_asked_for_made_and_taken_along(writer, of):
    answer = writer.post(LIST, wanted(of), format="json")
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    perform(work_keys.key_of(IncidentReport.objects.get().pk))
    one = f"{LIST}{answer.json()['uid']}/"
    assert writer.get(one).json()["title"] == "clickstream: Checkpoints expired"
    assert writer.get(f"{one}files/json/").json()["pages"]["verdict"]["tone"] == "crit"
    assert writer.get(f"{one}files/html/").content.startswith(b"<!doctype html>")


def test_a_report_is_made_from_an_alert(writer, of):
    evaluate(T0)
    alert = Alert.objects.get(rule="pressure.root")
    assert writer.post(LIST, {"alert": alert.uid}, format="json").json()["from_alert"] == alert.uid


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"jobs": []}, 400),
        ({"from": "gestern"}, 400),
        ({"from": "now-60d", "to": "now"}, 400),
        ({"alert": "alr_nope"}, 404),
    ],
)
def test_what_makes_no_sense_is_refused(writer, of, changed, code):
    assert writer.post(LIST, {**wanted(of), **changed}, format="json").status_code == code
    assert not IncidentReport.objects.exists()


def test_a_token_that_may_only_read_asks_for_none_and_deletes_none(reader, of):
    report = orders.request_report(scope(of), user=None, name="olga", at=timezone.now())
    assert reader.post(LIST, wanted(of), format="json").status_code == 403
    assert reader.delete(f"{LIST}{report.uid}/").status_code == 403
    assert reader.get(LIST).json()["results"][0]["uid"] == report.uid


def test_a_report_that_is_not_made_yet_has_no_file(writer, of):
    report = orders.request_report(scope(of), user=None, name="olga", at=timezone.now())
    answer = writer.get(f"{LIST}{report.uid}/files/html/")
    assert (answer.status_code, answer.json()["error"]["message"]) == (
        404,
        "This report is not made yet.",
    )


def test_a_report_is_deleted(writer, of):
    report = orders.request_report(scope(of), user=None, name="olga", at=timezone.now())
    assert writer.delete(reverse("api-reports-detail", args=(report.uid,))).status_code == 204
    assert not IncidentReport.objects.exists()
