"""Findings of one cause: one incident, one notice, one acknowledgement, one silence, one report."""

from datetime import timedelta

import pytest
from django.urls import reverse

from ingest.messages import plural
from tests.webapp.alerting.builders import (
    at,
    closed,
    kinds,
    look,
    looks,
    opened,
    somebody_listens,
    told,
)
from tests.webapp.alerting.test_recordings import imported
from tests.webapp.builders import fact, job, person
from webapp.alerting import incident_actions
from webapp.alerting.choices import AlertState, Mute
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert, Silence
from webapp.delivery.titles import title_of
from webapp.findings.models import Finding
from webapp.incidents.choices import IncidentState
from webapp.incidents.joining import forget_deleted_findings
from webapp.incidents.members import members
from webapp.incidents.models import Incident, IncidentMember
from webapp.lib.refusals import ActionRefused
from webapp.reports.models import IncidentReport

pytestmark = pytest.mark.django_db
MAP = "9c32e3838cee893dbb2fc90ccad79598"


@pytest.fixture(autouse=True)
def on_call(db):
    return somebody_listens()


def root(start: float = 0, job: str = "orders", **fields) -> Finding:
    return opened(
        start,
        job,
        "pressure.root",
        subject_kind="vertex",
        subject_id=MAP,
        subject="map",
        title="map back-pressures",
        **fields,
    )


def expired(start: float = 0, job: str = "orders", held_by: str = MAP, **fields) -> Finding:
    data = {"held_by": {"vertex_id": held_by}, **fields.pop("data", {})}
    return opened(
        start, job, "checkpoint.expired", title="Checkpoints expired", data=data, **fields
    )


def the_incident() -> Incident:
    (found,) = Incident.objects.listed()
    return found


def test_an_expiry_and_the_pressure_that_holds_the_barrier_are_one_incident_told_in_one_notice_titled_by_its_cause():
    expired(0, severity="critical")
    root(5)
    looks(15, 60)
    found = the_incident()
    assert (found.rule, found.title, found.severity, found.finding_count) == (
        "pressure.root",
        "map back-pressures",
        "critical",
        2,
    )
    (notice,) = told()
    assert notice.group == "prod-eu/pressure"
    assert [alert.rule for alert in notice.alerts] == ["pressure.root", "checkpoint.expired"]
    assert title_of(notice) == "[firing 2] prod-eu: map back-pressures (and 1 more)"
    assert {alert.incident_id for alert in notice.alerts} == {found.uid}
    assert [alert.incident_title for alert in notice.alerts] == ["", "map back-pressures"]


def test_incident_alert_api_and_page_say_what_the_finding_says_now(client):
    finding = root(0, severity="critical")
    looks(15, 60)
    now_says = plural(18, "{count:count} restart episode", "{count:count} restart episodes")
    Finding.objects.filter(pk=finding.pk).update(title=now_says)
    evaluate(at(75))
    found = the_incident()
    assert (found.title, Alert.objects.get().title) == (now_says, now_says)
    client.force_login(person())
    for place in (
        reverse("incident", args=[found.uid]),
        f"/api/v1/incidents/{found.uid}/",
        "/api/v1/alerts/",
    ):
        answer = client.get(place).content.decode()
        assert "18 restart episodes" in answer and "map back-pressures" not in answer


def test_two_findings_of_one_job_at_one_time_with_nothing_in_common_stay_two():
    expired(0, held_by="another vertex")
    root(0)
    looks(15, 60)
    assert Incident.objects.listed().count() == 2
    assert sorted(notice.group for notice in told()) == ["prod-eu/checkpoint", "prod-eu/pressure"]


def test_a_cause_found_late_joins_the_group_somebody_was_told_in_and_the_address_stays():
    expired(0)
    looks(15, 45)
    first = the_incident()
    assert first.rule == "checkpoint.expired"
    root(60)
    looks(75, 400)
    found = the_incident()
    assert (found.uid, found.rule, found.finding_count) == (first.uid, "pressure.root", 2)
    notices = told()
    assert {notice.group for notice in notices} == {"prod-eu/checkpoint"}
    assert title_of(notices[-1]).startswith("[firing 2] prod-eu: map back-pressures")


def test_two_incidents_that_turn_out_to_be_one_keep_the_older_address_and_the_other_leads_there(
    client,
):
    opened(0, rule="sink.transaction_timeout", severity="warning", subject_id="late")
    looks(15, 45)
    root(60)
    looks(75, 90)
    older, newer = Incident.objects.listed().order_by("id")
    expired(100)
    looks(105, 120)
    assert the_incident().uid == older.uid
    newer.refresh_from_db()
    assert (newer.state, newer.merged_into_id) == (IncidentState.MERGED, older.pk)
    assert set(Alert.objects.values_list("incident", flat=True)) == {older.uid}
    client.force_login(person("viewer"))
    assert client.get(reverse("incident", args=[newer.uid])).url == reverse(
        "incident", args=[older.uid]
    )


def test_jobs_that_lost_one_taskmanager_are_one_incident_of_several_jobs():
    for name in ("orders", "clicks"):
        opened(0, name, "restart.loop", data={"lost_taskmanagers": ["tm-7"]})
    opened(0, "payments", "restart.loop", data={"lost_taskmanagers": ["tm-8"]})
    looks(15, 30)
    assert sorted(Incident.objects.listed().values_list("job_count", flat=True)) == [1, 2]


def test_one_acknowledgement_is_for_all_of_it_and_for_what_joins_unless_that_is_worse():
    expired(0)
    root(0)
    looks(15, 30)
    found, who = the_incident(), person("anna", operator=True)
    assert incident_actions.acknowledge(found, who, "on it", at(40)) == 2
    with pytest.raises(ActionRefused, match="anna has already acknowledged"):
        incident_actions.acknowledge(found, who, "", at(41))
    opened(50, rule="sink.transaction_timeout", subject_id="uploads")
    opened(50, rule="checkpoint.stalled", severity="critical", subject_id="stalled")
    look(60)
    assert {row.rule: row.acknowledged_name for row in Alert.objects.all()} == {
        "checkpoint.expired": "anna",
        "pressure.root": "anna",
        "sink.transaction_timeout": "anna",
        "checkpoint.stalled": "",
    }
    assert incident_actions.take_back(found, who, at(70)) == 3
    assert not Alert.objects.filter(acknowledged_at__isnull=False).exists()


def test_an_acknowledgement_does_not_count_for_an_incident_that_begins_anew():
    row = root(0)
    looks(15, 30)
    incident_actions.acknowledge(the_incident(), person("anna", operator=True), "", at(40))
    closed(row, 60)
    looks(75, 240)
    root(600)
    look(610)
    found = the_incident()
    assert (found.finding_count, found.is_acknowledged) == (2, False)


def test_one_silence_holds_back_all_of_it_and_what_joins():
    root(0)
    look(5)
    incident_actions.silence(
        the_incident(), timedelta(hours=1), "", person("anna", operator=True), at(6)
    )
    expired(8)
    looks(15, 300)
    assert kinds() == []
    assert set(Alert.objects.values_list("muted_by", flat=True)) == {Mute.SILENCE}
    opened(300, "clicks", "pressure.root")
    looks(315, 345)
    assert [alert.job_name for notice in told() for alert in notice.alerts] == ["clicks"]


def test_an_incident_ends_with_its_last_finding_and_its_end_is_told_in_one_notice():
    one, other = root(0), expired(0)
    looks(15, 30)
    closed(one, 60)
    looks(75, 90)
    assert the_incident().state == IncidentState.OPEN
    closed(other, 120)
    looks(135, 700)
    found = the_incident()
    assert (found.state, found.ended_at) == (IncidentState.CLOSED, at(120))
    assert set(Alert.objects.values_list("state", flat=True)) == {AlertState.RESOLVED}
    assert [(notice.kind, notice.group) for notice in told()][-1] == (
        "resolved",
        "prod-eu/pressure",
    )


def test_a_finding_made_anew_leaves_no_hole():
    row = root(0)
    expired(0)
    looks(15, 30)
    found = the_incident()
    row.delete()
    look(45)
    found.refresh_from_db()
    assert (found.finding_count, IncidentMember.objects.filter(finding__isnull=True).count()) == (
        1,
        0,
    )
    root(50)
    look(60)
    assert (the_incident().uid, the_incident().finding_count) == (found.uid, 2)


def test_where_the_cause_is_no_longer_kept_what_most_follows_from_gives_the_name_not_what_came_first():
    opened(0, rule="sink.transaction_timeout", severity="info", title="Transactions")
    expired(5)
    root(10)
    looks(15, 45)
    assert the_incident().rule == "pressure.root"
    Finding.objects.filter(rule="pressure.root").delete()
    forget_deleted_findings()
    assert (the_incident().rule, the_incident().title) == (
        "checkpoint.expired",
        "Checkpoints expired",
    )


def test_looking_again_changes_nothing():
    root(0)
    expired(0)
    looks(15, 30)
    before = list(Incident.objects.values()), list(IncidentMember.objects.values())
    Finding.objects.update(to_alert=True)
    looks(45, 60)
    assert (list(Incident.objects.values()), list(IncidentMember.objects.values())) == before


def test_a_storm_of_jobs_takes_as_many_queries_as_a_few(django_assert_max_num_queries):
    for number in range(120):
        root(0, f"job-{number}")
        expired(0, f"job-{number}")
    with django_assert_max_num_queries(80):
        look(5)
    assert Incident.objects.listed().count() == 120


@pytest.mark.parametrize(
    ("name", "cause", "count"),
    [
        ("1.20.5-F", "pressure.root", 2),
        ("1.20.5-C2", "data.skew", 4),
        ("1.20.5-I", "restart.loop", 1),
        ("1.20.5-E", "checkpoint.declined", 1),
    ],
)
def test_a_recorded_incident_comes_out_of_the_database_as_one(name, cause, count):
    imported(name)
    evaluate(at(0))
    found = the_incident()
    assert (found.rule, len(members(found))) == (cause, found.finding_count)
    assert found.finding_count == count
    assert members(found)[0].finding.rule == cause


@pytest.fixture
def expiry(client):
    expired(0, severity="critical")
    root(0)
    looks(15, 30)
    client.force_login(person("anna", operator=True))
    return the_incident()


@pytest.mark.parametrize("hours", ["00004" + "0" * 5_000, "0000499"])
def test_of_a_number_whose_first_digits_may_be_chosen_an_hour_is_silent(client, expiry, hours):
    client.post(reverse("incident-silence", args=[expiry.uid]), {"hours": hours, "reason": "known"})
    silence = Silence.objects.get()
    assert silence.ends_at - silence.starts_at == timedelta(hours=1)


def test_the_page_has_the_cause_on_top_and_a_time_line_of_what_happened_and_was_done(
    client, expiry
):
    client.post(reverse("incident-acknowledge", args=[expiry.uid]), {"comment": "ticket 7"})
    client.post(reverse("incident-silence", args=[expiry.uid]), {"hours": "4", "reason": "known"})
    shown = client.get(
        reverse("incident", args=[expiry.uid]),
        {"from": "2026-03-01T11:00:00Z", "to": "2026-03-01T13:00:00Z"},
    )
    page = shown.content.decode()
    assert page.index("<h1>map back-pressures</h1>") < page.index("Checkpoints expired")
    for said in (
        "Found: map back-pressures",
        "Fired: 2 alerts",
        "Notified: 2 alerts",
        "follows from",
    ):
        assert said in page
    assert f"/jobs/{expiry.cluster}/{expiry.job_id}/before-after/?at=" in page
    (silence,) = Silence.objects.all()
    assert (silence.matcher_lines, silence.ends_at - silence.starts_at) == (
        f'incident="{expiry.uid}"',
        timedelta(hours=4),
    )
    later = client.get(
        reverse("incident", args=[expiry.uid]), {"from": "now-1h", "to": "now"}
    ).content.decode()
    assert "Acknowledged by anna: 2 alerts" in later
    assert "Silenced by anna" in later
    empty = client.get(
        reverse("incident", args=[expiry.uid]),
        {"from": "2026-03-01T01:00:00Z", "to": "2026-03-01T02:00:00Z"},
    )
    assert empty.context["days"] == []


def test_the_page_says_first_what_it_costs_and_who_was_notified(client, expiry):
    fact(job(expiry.cluster, at=at(0), job_id=expiry.job_id, name="orders"), 1, at(1))
    page = client.get(reverse("incident", args=[expiry.uid])).content.decode()
    assert (
        page.index("What it costs")
        < page.index("0 of 1 known checkpoint failed.")
        < page.index("Who was notified")
    )
    assert page.index("Who was notified") < page.index("the cause, then what follows from it")


def test_what_it_cost_is_told_though_its_findings_were_taken_back(client, expiry):
    fact(job(expiry.cluster, at=at(0), job_id=expiry.job_id, name="orders"), 1, at(1))
    Finding.objects.all().delete()
    page = client.get(reverse("incident", args=[expiry.uid]))
    assert page.context["cost"][0] == "0 of 1 known checkpoint failed."


def test_what_came_back_many_times_is_one_row_and_a_long_time_line_is_folded(client, expiry):
    closed(Finding.objects.get(rule="checkpoint.expired"), 35)
    for start in range(60, 1_500, 60):
        closed(expired(start, severity="critical"), start + 20)
        look(start + 30)
    page = client.get(
        reverse("incident", args=[expiry.uid]),
        {"from": "2026-03-01T11:00:00Z", "to": "2026-03-01T13:00:00Z"},
    )
    (often,) = [
        one
        for one in page.context["matters_first"]
        if one.shown.finding.rule == "checkpoint.expired"
    ]
    rows = Finding.objects.filter(incident_member__incident=expiry)
    assert often.shown.episodes == rows.count() - 1
    assert (often.first_seen, often.last_seen) == (
        at(0),
        max(row.last_seen for row in rows),
    )
    whole = page.content.decode()
    folded = page.context["folded_count"]
    shown = sum(
        len(moments)
        for name in ("days", "folded", "last_days")
        for _, moments in page.context[name]
    )
    assert f"{folded} moments between" in whole
    assert shown == folded + 18


def test_alerts_that_fire_stand_before_those_that_are_resolved(client, expiry):
    Alert.objects.filter(rule="pressure.root").update(state=AlertState.FIRING, severity_rank=1)
    Alert.objects.filter(rule="checkpoint.expired").update(
        state=AlertState.RESOLVED, severity_rank=3
    )
    alerts = client.get(reverse("incident", args=[expiry.uid])).context["alerts"]
    assert [alert.rule for alert, _, _ in alerts] == ["pressure.root", "checkpoint.expired"]


def test_one_report_is_of_all_jobs_of_it(client, expiry):
    Incident.objects.update(state=IncidentState.CLOSED, ended_at=at(300))
    job(expiry.cluster, at=at(0), job_id=expiry.job_id, name="orders")
    answer = client.post(f"{reverse('reports-new')}?incident={expiry.uid}")
    report = IncidentReport.objects.get()
    assert answer.url == reverse("report", args=[report.uid])
    assert (report.from_alert, report.jobs) == (expiry.uid, [[expiry.cluster, expiry.job_id]])
    assert report.start < at(0) < at(300) < report.end < at(3600)


def test_who_may_not_operate_may_look_and_change_nothing(client, expiry):
    client.force_login(person("vera"))
    assert client.get(reverse("incident", args=[expiry.uid])).status_code == 200
    for name in ("incident-acknowledge", "incident-silence"):
        assert client.post(reverse(name, args=[expiry.uid])).status_code == 403
    assert not Silence.objects.exists()
    assert not the_incident().is_acknowledged


def test_the_list_is_narrowed(client, expiry, django_assert_max_num_queries):
    with django_assert_max_num_queries(24):
        page = client.get(reverse("incidents")).content.decode()
    assert expiry.uid in page
    assert (
        "No incident matches"
        in client.get(reverse("incidents"), {"severity": "warning"}).content.decode()
    )


def test_the_api_says_what_is_in_an_incident_and_takes_orders(client, expiry):
    address = reverse("api-incidents-detail", args=[expiry.uid])
    found = client.get(address).json()
    assert [one["rule"] for one in found["findings"]] == ["pressure.root", "checkpoint.expired"]
    assert found["findings"][1]["follows_from"] == ["pressure.root"]
    assert {one["incident"] for one in found["alerts"]} == {expiry.uid}
    assert client.get(reverse("api-incidents-list")).json()["results"][0]["uid"] == expiry.uid
    assert (
        client.post(f"{address}acknowledge/", {"comment": ""}, "application/json").json()[
            "acknowledged_name"
        ]
        == "anna"
    )
    assert client.post(f"{address}acknowledge/", {}, "application/json").status_code == 409
    assert (
        client.post(f"{address}silence/", {"lasts_s": 600}, "application/json").status_code == 201
    )
    assert client.post(f"{address}take-back/").json()["acknowledged_name"] == ""
