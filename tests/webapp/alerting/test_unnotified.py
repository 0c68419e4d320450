"""The page of an incident says why nobody was notified: the reason that holds, reached by
evaluations as they happen.
"""

import re
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.webapp.alerting.builders import (
    at,
    closed,
    look,
    looks,
    opened,
    somebody_listens,
    unreachable,
)
from tests.webapp.builders import cluster, person
from webapp.accounts.models import User
from webapp.alerting import actions, incident_actions, setting_actions
from webapp.alerting.models import Alert
from webapp.delivery.models import Delivery, Endpoint
from webapp.findings.models import Finding
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster
from webapp.incidents.models import Incident
from webapp.lib import grants
from webapp.lib.matchers import parse_lines

pytestmark = pytest.mark.django_db
NOTHING_ALERTS = "Nothing of it alerts. "
NOT_STORED = "? No endpoint took the notice, or its deliveries are no longer stored."
MUST_BE_CRITICAL = {"min_severity": "critical"}


@pytest.fixture
def otto(db) -> User:
    return person("otto", operator=True)


@pytest.fixture
def on_call(db) -> Endpoint:
    return somebody_listens()


def matching(lines: str) -> dict[str, object]:
    return {"matchers": [one.as_json() for one in parse_lines(lines)]}


def page(who: User, seconds: float, of: Incident | None = None) -> str:
    """Of the only incident, if none is given, as it is shown to somebody then."""
    client = Client()
    client.force_login(who)
    with time_machine.travel(at(seconds), tick=False):
        return client.get(
            reverse("incident", args=[(of or Incident.objects.get()).uid])
        ).content.decode()


def said(who: User, seconds: float, of: Incident | None = None) -> str:
    """What stands below "Who was notified", as one text."""
    section = (
        page(who, seconds, of)
        .partition('id="notified-title"')[2]
        .partition("</section>")[0]
        .partition("</h2>")[2]
    )
    return " ".join(re.sub(r"<[^>]+>", " ", section).replace(" Deliveries", " ").split())


def why(who: User, seconds: float, of: Incident | None = None) -> str:
    answer = said(who, seconds, of)
    assert answer.startswith("? Nobody was notified. "), answer
    return answer.removeprefix("? Nobody was notified. ")


def set_for(rule: str, who: User, **values) -> None:
    setting_actions.save(rule, "", "", values, who)


@pytest.mark.parametrize(
    ("endpoints", "reason"),
    [
        ((), "There is no endpoint."),
        (({"enabled": False},), "All endpoints are disabled."),
        ((matching("cluster=other"),), "No enabled endpoint matches the labels."),
        (
            (matching("cluster=other"), {"enabled": False}),
            "No enabled endpoint matches the labels.",
        ),
        (
            (MUST_BE_CRITICAL, {"enabled": False}),
            "The enabled endpoints that match the labels take only more severe alerts.",
        ),
        (
            (MUST_BE_CRITICAL, matching("cluster=other")),
            "The enabled endpoints that match the labels take only more severe alerts.",
        ),
    ],
)
def test_no_endpoint_takes_it_neither_while_its_notice_is_due_nor_when_it_was_made(
    otto, endpoints, reason
):
    for fields in endpoints:
        somebody_listens(**fields)
    opened(0)
    look(5)
    assert why(otto, 6) == reason
    looks(15, 60)
    assert why(otto, 61) == reason


def test_where_somebody_was_notified_no_reason_is_given(otto, on_call):
    opened(0)
    looks(15, 60)
    assert "Nobody was notified" not in page(otto, 61) and on_call.name in said(otto, 61)


def test_an_endpoint_that_was_added_later_is_no_proof_that_nobody_was_notified(otto):
    opened(0)
    looks(15, 60)
    somebody_listens()
    assert said(otto, 61) == NOT_STORED


def test_a_notice_that_an_endpoint_took_for_another_incident_alone_notified_nobody_of_this_one(
    otto,
):
    picky = somebody_listens(**MUST_BE_CRITICAL)
    opened(0, severity="critical")
    opened(0, "clicks")
    looks(15, 60)
    alone = Incident.objects.get(severity="warning")
    assert (
        why(otto, 61, alone)
        == "The enabled endpoints that match the labels take only more severe alerts."
    )
    assert picky.name in said(otto, 61, Incident.objects.get(severity="critical"))
    Endpoint.objects.update(min_severity="warning")
    assert said(otto, 61, alone) == NOT_STORED


def test_deliveries_that_are_not_kept_are_no_proof_that_nobody_was_notified(otto, on_call):
    opened(0)
    looks(15, 60)
    Delivery.objects.all().delete()
    assert said(otto, 61) == NOT_STORED


def test_a_notice_is_due_when_its_group_has_waited_and_overdue_where_nothing_evaluates(
    otto, on_call
):
    opened(0)
    look(5)
    assert why(otto, 6) == "The notice is due in 4 s."
    assert why(otto, 370) == "The notice was due 6 min ago, and is not made yet."
    look(375)
    assert "Nobody was notified" not in page(otto, 376)


def test_a_silence_mutes_from_the_moment_it_is_made_and_what_was_muted_is_due_when_it_ended(
    otto, on_call
):
    opened(0)
    look(5)
    made = incident_actions.silence(
        Incident.objects.get(), timedelta(hours=1), "known", otto, at(6)
    )
    assert why(otto, 7) == "Muted by a silence."
    looks(8, 60)
    assert why(otto, 61) == "Muted by a silence."
    actions.end_silence(made, otto, at(70))
    look(71)
    look(75)
    assert "Nobody was notified" not in said(otto, 76)


def test_what_is_let_go_waits_for_its_notice_no_longer_muted(otto, on_call):
    opened(40)
    made = actions.silence(parse_lines("job=orders"), at(40), at(90), "known", otto, at(40))
    look(45)
    of = Incident.objects.get(job_name="orders")
    assert why(otto, 46, of) == "Muted by a silence."
    opened(70, "clicks")
    looks(85, 90, every_s=5)
    assert made.ends_at == at(90) and why(otto, 91, of).startswith("The notice is due in ")


def test_a_cluster_that_is_not_seen_mutes_its_alerts_and_not_its_own(otto, on_call):
    opened(0)
    unreachable(0)
    looks(15, 60)
    assert (
        why(otto, 61, Incident.objects.get(rule="checkpoint.declined"))
        == "Muted: the cluster is not seen."
    )
    assert on_call.name in said(otto, 61, Incident.objects.get(rule="collect.blind"))


def test_what_ended_within_a_silence_says_so_while_it_lasts_and_afterwards(otto, on_call):
    actions.silence(parse_lines("cluster=prod-eu"), at(0), at(3_600), "known", otto, at(0))
    closed(opened(0), 30)
    looks(60, 400)
    assert why(otto, 401) == "It was over before the mute ended."
    look(3_700)
    assert why(otto, 3_701) == "It was over before the mute ended."


def test_a_pending_alert_has_not_lasted_for_its_hold_time(otto, on_call):
    set_for("checkpoint.declined", otto, hold_before_s=300)
    opened(0)
    looks(15, 60)
    assert why(otto, 61) == "Pending: it has not lasted for the hold time."
    looks(300, 330)
    assert on_call.name in said(otto, 331)


def test_in_a_recording_a_hold_time_is_never_over(otto, on_call):
    Cluster.objects.create(name="prod-eu", kind=ClusterKind.RECORDING, enabled=False)
    set_for("checkpoint.declined", otto, hold_before_s=300)
    opened(0)
    looks(15, 60)
    look(90 * 86_400)
    assert why(otto, 90 * 86_400) == "Pending: it has not lasted for the hold time."


def test_a_recording_notifies_as_a_live_cluster_does(otto):
    Cluster.objects.create(name="prod-eu", kind=ClusterKind.RECORDING, enabled=False)
    closed(opened(0), 600)
    looks(90 * 86_400, 90 * 86_400 + 30)
    assert why(otto, 90 * 86_400 + 31) == "There is no endpoint."


def test_several_reasons_are_told_apart_with_the_number_of_alerts_of_each(otto, on_call):
    for name in ("orders", "clicks", "carts"):
        opened(0, name, "restart.loop", data={"lost_taskmanagers": ["tm-7"]})
    actions.silence(parse_lines('job=~"clicks|carts"'), at(0), at(3_600), "known", otto, at(0))
    Endpoint.objects.update(enabled=False)
    looks(15, 60)
    assert why(otto, 61) == "1 alert All endpoints are disabled. 2 alerts Muted by a silence."


def test_an_acknowledgement_holds_no_first_notice_back(otto, on_call):
    opened(0)
    look(5)
    incident_actions.acknowledge(Incident.objects.get(), otto, "on it", at(6))
    assert why(otto, 7) == "The notice is due in 3 s."
    look(15)
    assert on_call.name in said(otto, 16)


def test_what_is_less_severe_than_a_warning_does_not_alert(otto, on_call):
    opened(0, severity="info")
    look(15)
    assert why(otto, 16) == NOTHING_ALERTS + "What is less severe than a warning does not alert."


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"alerts": False}, "Alerts are switched off for the rule."),
        ({"severity": "info"}, "The severity that is set for the rule is below a warning."),
    ],
)
def test_what_people_set_for_its_rule_is_the_reason_until_they_take_it_back(
    otto, on_call, values, reason
):
    set_for("checkpoint.declined", otto, **values)
    opened(0)
    look(15)
    assert why(otto, 16) == NOTHING_ALERTS + reason
    set_for("checkpoint.declined", otto, alerts=True, severity="critical")
    assert why(otto, 17) == NOTHING_ALERTS + "The next evaluation processes it."
    look(18)
    assert on_call.name in said(otto, 19)


def test_what_ended_within_the_hold_time_does_not_alert(otto, on_call):
    set_for("checkpoint.declined", otto, hold_before_s=300)
    row = opened(0)
    look(15)
    closed(row, 60)
    looks(75, 400)
    assert why(otto, 401) == NOTHING_ALERTS + "What ends within the hold time does not alert."


def test_findings_of_different_reasons_are_counted_apart(otto, on_call):
    opened(0, rule="sink.transaction_timeout", severity="info", subject_id="late")
    opened(0, rule="checkpoint.expired")
    set_for("checkpoint.expired", otto, alerts=False)
    look(15)
    said_of = why(otto, 16, Incident.objects.get(rule="checkpoint.expired"))
    assert said_of.startswith(NOTHING_ALERTS)
    assert "1 finding Alerts are switched off for the rule." in said_of
    assert "1 finding What is less severe than a warning does not alert." in said_of


def test_a_cluster_that_is_no_longer_watched_does_not_alert(otto, on_call):
    cluster("prod-eu", at=at(0))
    opened(0)
    Cluster.objects.get().delete()
    look(15)
    assert why(otto, 16) == NOTHING_ALERTS + "The cluster is no longer watched."


def test_what_was_set_differently_when_it_ended_is_not_explained_by_what_is_set_now(otto, on_call):
    set_for("checkpoint.declined", otto, alerts=False)
    closed(opened(0), 60)
    looks(75, 90)
    set_for("checkpoint.declined", otto, alerts=True)
    look(105)
    assert (
        why(otto, 106)
        == NOTHING_ALERTS
        + "With the current settings it would alert: the settings were different, or its alert "
        "continued in another incident."
    )


def test_without_findings_and_alerts_nothing_is_claimed(otto, on_call):
    opened(0)
    looks(15, 60)
    Finding.objects.all().delete()
    Alert.objects.all().delete()
    assert said(otto, 61) == (
        "? Whether anybody was notified is no longer known: its findings and alerts are not kept."
    )


def test_who_sees_some_clusters_is_told_of_no_endpoint_and_of_none_that_is_missing(otto):
    vera = person("vera")
    vera.sees = grants.as_json(grants.parse('cluster="prod-eu"'))
    vera.save()
    cluster("prod-eu", at=at(0))
    somebody_listens(**matching("cluster=other"))
    opened(0)
    look(5)
    assert why(vera, 6) == "The notice is due in 4 s."
    looks(15, 60)
    assert said(vera, 61) == NOT_STORED
    assert why(otto, 61) == "No enabled endpoint matches the labels."


def queries(who: User, of: Incident) -> int:
    client = Client()
    client.force_login(who)
    with time_machine.travel(at(61), tick=False), CaptureQueriesContext(connection) as found:
        client.get(reverse("incident", args=[of.uid]))
    return len(found)


@pytest.mark.parametrize(("alerts", "more"), [(True, 1), (False, -1)])
def test_a_reason_costs_a_few_queries_however_many_alerts_and_findings_there_are_and_none_where_somebody_was_notified(
    otto, alerts, more
):
    if not alerts:
        set_for("restart.loop", otto, alerts=False)
    somebody_listens(**matching("rule=checkpoint.declined"))
    opened(0)
    for number in range(40):
        opened(0, f"job-{number}", "restart.loop", data={"lost_taskmanagers": ["tm-7"]})
    opened(0, "alone", "restart.loop")
    looks(15, 60)
    many, one, notified = (
        Incident.objects.get(**of)
        for of in ({"job_count": 40}, {"job_name": "alone"}, {"rule": "checkpoint.declined"})
    )
    queries(otto, one)  # what every page keeps for some seconds
    # The delivery is read where somebody was notified.
    assert queries(otto, many) == queries(otto, one) == queries(otto, notified) + more


def test_the_page_of_an_alert_gives_the_same_reason(otto, on_call):
    set_for("checkpoint.declined", otto, hold_before_s=300)
    opened(0)
    looks(15, 60)
    client = Client()
    client.force_login(otto)
    address = reverse("alert", args=[Alert.objects.get().uid])
    assert (
        "<b>Nobody was notified</b>Pending: it has not lasted for the hold time.</div>"
        in client.get(address).content.decode()
    )
    looks(300, 330)
    assert "Nobody was notified" not in client.get(address).content.decode()
    Delivery.objects.all().delete()
    gone = client.get(address).content.decode()
    assert "Nobody was notified" not in gone and "its deliveries are no longer stored" in gone
