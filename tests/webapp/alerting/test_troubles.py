"""Alerts as troubles: one row an incident, who works on it, who was notified, what would resolve it."""

import re
from html import unescape

import pytest
from django.urls import reverse

from ingest.messages import message
from tests.webapp.alerting.builders import closed, looks, opened, somebody_listens
from tests.webapp.alerting.test_incidents import MAP, expired, root, the_incident
from tests.webapp.builders import person
from webapp.alerting.models import Alert
from webapp.delivery.choices import DeliveryState
from webapp.delivery.models import Delivery
from webapp.findings.models import Finding
from webapp.incidents.models import Incident

pytestmark = pytest.mark.django_db
EVIDENCE = [
    {
        "name": "expired checkpoints",
        "value": 9,
        "unit": "count",
        "threshold": 3,
        "comparison": ">=",
        "note": message("within {limits:duration}", limits=600_000),
    }
]


@pytest.fixture
def anna(client):
    user = person("anna", operator=True)
    client.force_login(user)
    return user


def seen(client, address, **query):
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", " ", shown(client, address, **query))))


def shown(client, address, **query):
    return client.get(address, query).content.decode()


def rows(client, **query):
    return [row[0] for row in client.get(reverse("alerts"), query).context["rows"]]


def in_menu(client):
    (count,) = re.findall(r'class="count"[^>]*>(\d+)<', shown(client, reverse("alerts")))
    return int(count)


def test_alerts_of_one_incident_are_one_row_named_by_the_worst_with_the_step_of_its_cause(
    client, anna
):
    expired(0, severity="critical", evidence=EVIDENCE)
    root(0, next_step="Take a flame graph of map/3.")
    opened(0, "payments", severity="warning", title="Checkpoints of payments are declined")
    looks(15, 30)
    assert [row.rule for row in rows(client)] == ["checkpoint.expired", "checkpoint.declined"]
    page = seen(client, reverse("alerts"))
    assert "and 1 more alert of it" in page
    assert "Follows from: map back-pressures Next: Take a flame graph of map/3." in page
    assert re.search(r"Resolves: After \d+ min without: expired checkpoints ≥ 3 ", page)
    assert in_menu(client) == 2
    assert len(rows(client, state="any")) == 3


def test_what_is_quiet_stands_behind_what_fires_as_badly_and_before_what_is_milder(client, anna):
    somebody_listens()
    quiet = opened(0, "a", severity="critical")
    opened(5, "b", severity="critical")
    opened(9, "c", severity="warning")
    looks(15, 60)
    closed(quiet, 70)
    looks(75, 90)
    assert [row.job_name for row in rows(client)] == ["b", "a", "c"]
    assert "Resolves: At 2026-03-01 12:0" in seen(client, reverse("alerts"))


def test_acknowledging_a_row_acknowledges_all_of_its_incident(client, anna):
    expired(0, severity="critical")
    root(0)
    looks(15, 30)
    (row,) = rows(client)
    client.post(reverse("alerts-acknowledge"), {"uid": row.uid, "troubles": "1"})
    assert Alert.objects.filter(acknowledged_name="anna").count() == 2
    assert the_incident().acknowledged_name == "anna"


def test_a_trouble_is_assigned_found_by_its_owner_and_taken_off_again_and_its_story_has_it(
    client, anna
):
    person("olga", operator=True)
    opened(0)
    looks(15, 30)
    incident = the_incident()
    assign, back = reverse("incident-assign", args=[incident.uid]), reverse("alerts")
    assert client.post(assign, {"owner": "olga", "next": back}).url == back
    assert "olga works on it now." in seen(client, back)
    (row,) = rows(client, owner="olga")
    assert rows(client, owner="anna") == rows(client, owner="-") == []
    assert "assigned by anna olga" in seen(client, reverse("alert", args=[row.uid]))
    by_api = f"/api/v1/incidents/{incident.uid}/assign/"
    assert client.post(by_api, {"owner": ""}, content_type="application/json").status_code == 200
    assert Incident.objects.get().owner is None
    assert [row.uid] == [row.uid for row in rows(client, owner="-")]
    assert list(row.events.filter(who="anna").values_list("kind", "comment")) == [
        ("assigned", "olga"),
        ("released", ""),
    ]


def test_only_operators_who_see_the_cluster_can_be_its_owner_and_only_they_can_assign_it(
    client, anna
):
    opened(0)
    looks(15, 30)
    incident = the_incident()
    elsewhere = person("erik", operator=True)
    elsewhere.sees = [[{"label": "cluster", "operator": "=", "value": "another"}]]
    elsewhere.save()
    person("vera")
    assign = reverse("incident-assign", args=[incident.uid])
    for name in ("erik", "vera", "nobody at all"):
        client.post(assign, {"owner": name})
        assert f"{name} is none." in seen(client, reverse("alerts"))
    page = shown(client, reverse("incident", args=[incident.uid]))
    assert 'value="anna"' in page and "erik" not in page and "vera" not in page
    client.force_login(elsewhere)
    assert client.post(assign, {"owner": "erik"}).status_code == 404
    client.logout()
    client.login(username="vera", password="correct horse battery")
    assert client.post(assign, {"owner": "anna"}).status_code == 403
    assert Incident.objects.get().owner_name == ""


def test_the_owner_of_an_incident_stays_when_it_becomes_part_of_an_older_one(client, anna):
    root(0)
    looks(15, 30)
    expired(0, held_by="", severity="critical")
    looks(45, 60)
    assert Incident.objects.open().count() == 2
    younger = Incident.objects.get(rule="checkpoint.expired")
    client.post(reverse("incident-assign", args=[younger.uid]), {"owner": "anna"})
    late = Finding.objects.get(rule="checkpoint.expired")
    Finding.objects.filter(pk=late.pk).update(data={"held_by": {"vertex_id": MAP}}, to_alert=True)
    looks(75, 90)
    assert the_incident().owner_name == "anna"


def test_a_row_says_who_was_notified_and_that_it_failed_else_why_nobody_was(client, anna):
    opened(0)
    looks(15, 30)
    assert "nobody: There is no endpoint." in seen(client, reverse("alerts"))
    chat = somebody_listens()
    opened(40, "payments", "checkpoint.expired")
    looks(45, 105)
    Delivery.objects.update(state=DeliveryState.DEAD, last_error="timeout")
    page = seen(client, reverse("alerts"))
    assert re.search(rf"▲ dead {chat.name} \d\d-\d\d \d\d:\d\d", page)
    assert re.search(rf"▲ dead {chat.name}", seen(client, reverse("incidents")))


def test_the_notice_is_shown_as_it_would_be_sent_and_then_as_it_was(client, anna):
    opened(0)
    looks(15, 30)
    alert = Alert.objects.get()
    address = reverse("alert", args=[alert.uid])
    assert "as it would be sent [firing 1] prod-eu: Checkpoints of orders" in seen(client, address)
    chat = somebody_listens()
    assert f"as it would be sent to {chat.name}" in seen(client, address)
    later = opened(40, "payments", "checkpoint.expired", title="Checkpoints expired")
    looks(45, 105)
    sent = Alert.objects.get(finding=later)
    page = seen(client, reverse("alert", args=[sent.uid]))
    assert f"as sent to {chat.name}, 2026-03-01 12:0" in page
    assert "Cause: The disk is full." in page
