"""From marked findings to notices in the outbox: once, grouped, in their time."""

from datetime import timedelta

import pytest

from tests.webapp.alerting.builders import (
    T0,
    at,
    closed,
    kinds,
    look,
    looks,
    opened,
    somebody_listens,
    the_alert,
    told,
    unreachable,
    unsaved,
)
from tests.webapp.builders import cluster, person
from webapp.alerting import actions, setting_actions
from webapp.alerting.choices import AlertState, EventKind, Notified
from webapp.alerting.models import Alert, AlertGroup
from webapp.findings import marks
from webapp.findings.models import Finding
from webapp.fleet.choices import ClusterKind, OperatorState
from webapp.fleet.models import Cluster
from webapp.incidents.models import Incident
from webapp.lib.matchers import parse_lines
from webapp.work.models import Manifest

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def on_call(db):
    return somebody_listens()


def test_a_finding_is_told_once_when_its_group_has_waited():
    opened(0)
    look(5)
    assert kinds() == []
    looks(15, 300)
    (notice,) = told()
    assert (notice.kind, notice.status, notice.group) == ("firing", "firing", "prod-eu/checkpoint")
    assert (notice.alerts[0].title, notice.alerts[0].starts_at) == (
        "Checkpoints of orders are declined",
        T0,
    )


def test_the_wait_counts_from_the_first_evidence_so_that_a_cycles_own_delay_is_not_added():
    opened(0)
    look(60)
    assert kinds() == ["firing"]


def test_taking_a_finding_up_clears_its_mark_and_nothing_is_done_twice():
    opened(0)
    assert look(60).taken == 1
    assert not Finding.objects.filter(to_alert=True).exists()
    assert look(75).counts() == {}


def test_findings_of_one_family_are_told_together():
    for job in ("orders", "clicks", "payments"):
        opened(0, job)
    opened(0, "orders", "restart.loop")
    look(30)
    assert sorted((notice.group, notice.alerts_total) for notice in told()) == [
        ("prod-eu/checkpoint", 3),
        ("prod-eu/restart", 1),
    ]


def test_news_of_an_incident_come_no_more_often_than_the_interval():
    opened(0, "orders")
    look(30)
    follows = opened(40, "orders", "checkpoint.stalled")
    looks(45, 315)
    assert kinds() == ["firing"]
    look(330)
    assert kinds() == ["firing", "firing"]
    assert told()[1].changed == {the_alert_of(follows).uid} and told()[1].alerts_total == 2


def test_an_incident_of_one_job_does_not_wait_for_the_interval_of_another():
    opened(0, "orders")
    look(30)
    opened(40, "clicks")
    look(45)
    assert kinds() == ["firing"]
    look(50)
    assert [notice.changed for notice in told()] == [
        {Alert.objects.get(job_name=name).uid} for name in ("orders", "clicks")
    ]


def test_another_job_that_an_incident_reaches_does_not_wait_for_the_interval():
    data = {"reason": "CHECKPOINT_ASYNC_EXCEPTION", "declines": [{"host": "h7"}]}
    opened(0, "orders", data=data)
    look(30)
    opened(40, "clicks", data=data)
    look(50)
    assert Incident.objects.get().job_count == 2
    assert [len(notice.changed) for notice in told()] == [1, 1]


def test_the_end_of_one_incident_does_not_wait_for_the_interval_of_another():
    row = opened(0, "orders")
    look(30)
    closed(row, 200)
    looks(210, 285)
    opened(280, "clicks")
    looks(300, 360, 15)
    assert kinds() == ["firing", "firing", "resolved"]
    assert told()[2].made_at == at(345)


def test_where_one_incident_after_the_other_begins_the_later_ones_come_together():
    for number in range(40):
        opened(15 * number, f"job-{number:02}")
        look(15 * number + 10)
    times = [notice.made_at for notice in told()]
    assert len(times) == 20 and max(len(notice.changed) for notice in told()) == 11
    assert all(
        later - time >= timedelta(minutes=5) for time, later in zip(times, times[10:], strict=False)
    )
    looks(610, 900)
    assert not Alert.objects.exclude(notified=Notified.FIRING).exists()


def test_a_cause_that_comes_to_light_later_does_not_wait_for_the_interval():
    opened(0, "orders", "checkpoint.stalled")
    look(30)
    cause = opened(40, "orders", "checkpoint.declined")
    look(50)
    assert [notice.kind for notice in told()] == ["firing", "firing"]
    assert told()[1].changed == {the_alert_of(cause).uid}


def test_a_taskmanager_lost_under_an_open_restart_loop_is_a_notice_of_its_own():
    opened(0, "orders", "restart.loop", severity="critical")
    look(30)
    lost = opened(40, "orders", "restart.taskmanager_lost")
    look(50)
    assert kinds() == ["firing", "firing"] and told()[1].changed == {the_alert_of(lost).uid}


def test_another_cause_of_what_is_open_is_a_notice_of_its_own():
    fails = {"java.io.IOException": 3}
    row = opened(0, "orders", "restart.loop", severity="critical", data={"groups": fails})
    look(30)
    row.data = {"groups": {**fails, "TaskManager lost": 1}}
    row.title = "TaskManager tm-1 was lost"
    before = marks.FindingMark.of(Finding.objects.get(pk=row.pk))
    marks.save(row, before)
    look(45)
    assert kinds() == ["firing", "changed"] and told()[1].alerts[0].title == row.title
    assert the_alert().events.filter(kind=EventKind.CAUSE).count() == 1
    for groups in ({"TaskManager lost": 4}, fails):
        before = marks.FindingMark.of(row)
        row.data = {"groups": groups}
        marks.save(row, before)
        looks(60, 600)
    assert kinds() == ["firing", "changed"]


def test_its_end_is_told_after_it_stayed_away():
    row = opened(0)
    look(30)
    closed(row, 60)
    look(75)
    assert the_alert().state == AlertState.FIRING
    looks(90, 600)
    assert kinds() == ["firing", "resolved"]
    assert told()[1].alerts[0].ends_at == at(60) and the_alert().notified == Notified.RESOLVED


def test_what_ended_before_anybody_was_told_is_told_once_as_ended():
    closed(opened(0), 10)
    looks(60, 600)
    assert kinds() == ["resolved"]
    (alert,) = told()[0].alerts
    assert (alert.status, alert.ends_at) == ("resolved", at(10))


def test_what_ended_while_others_begin_is_in_their_notice_as_ended():
    closed(opened(0), 10)
    opened(12, "clicks")
    looks(60, 600)
    (notice,) = told()
    assert notice.kind == "firing" and notice.firing_total == notice.resolved_total == 1


def test_what_nobody_answers_is_told_again_after_four_hours_and_what_somebody_does_is_not():
    opened(0)
    look(30)
    look(30 + 4 * 3600)
    assert kinds() == ["firing", "repeat"]
    actions.acknowledge([the_alert().uid], person(operator=True), "at it", at(5 * 3600))
    looks(9 * 3600, 9 * 3600 + 30)
    assert kinds() == ["firing", "repeat"]


def test_the_end_of_what_is_acknowledged_is_told_with_who_did():
    row = opened(0)
    look(30)
    actions.acknowledge([the_alert().uid], person("olga", operator=True), "", at(40))
    closed(row, 60)
    looks(75, 600)
    assert kinds() == ["firing", "resolved"] and told()[1].alerts[0].acknowledged_by == "olga"


def test_a_recording_is_told_once_and_never_again():
    Cluster.objects.create(name="prod-eu", kind=ClusterKind.RECORDING, enabled=False)
    closed(opened(0), 600)
    opened(100, "clicks")
    looks(90 * 86_400, 90 * 86_400 + 30)
    assert kinds() == ["firing"]
    look(91 * 86_400)
    assert kinds() == ["firing"]


def test_a_note_has_no_alert():
    opened(0, severity="info")
    look(60)
    assert not Alert.objects.exists() and not Finding.objects.filter(to_alert=True).exists()


def test_a_worse_severity_is_told():
    row = opened(0)
    look(30)
    Finding.objects.filter(pk=row.pk).update(severity="critical", severity_rank=3, to_alert=True)
    looks(45, 345)
    assert kinds() == ["firing", "changed"] and told()[1].alerts[0].severity == "critical"


def test_a_finding_that_is_gone_resolves_its_alert():
    row = opened(0)
    look(30)
    row.delete()
    looks(45, 600)
    assert kinds() == ["firing", "resolved"]


def test_a_finding_made_anew_is_the_same_alert():
    row = opened(0)
    look(30)
    row.delete()
    unsaved(0, last_seen=at(40)).save()
    looks(45, 3_000)
    assert kinds() == ["firing"] and the_alert().finding_id == Finding.objects.get().pk


def test_importing_what_was_told_again_tells_nothing():
    closed(opened(0), 60)
    looks(60, 900)
    Finding.objects.all().delete()
    closed(opened(0), 60)
    looks(915, 1_500)
    assert kinds() == ["resolved"] and the_alert().state == AlertState.RESOLVED


def test_an_end_that_alerting_never_heard_of_is_found():
    row = opened(0)
    look(30)
    Finding.objects.filter(pk=row.pk).update(state="closed", closed_at=at(60))
    looks(75, 600)
    assert kinds() == ["firing", "resolved"]


def test_an_unreachable_cluster_is_one_notice_that_names_what_it_holds_back():
    for number in range(60):
        opened(0, f"job-{number:02}")
    opened(0, "other", cluster="prod-us")
    unreachable(0)
    look(30)
    by_group = {notice.group: notice for notice in told()}
    assert set(by_group) == {"prod-eu/collect", "prod-us/checkpoint"}
    (alert,) = by_group["prod-eu/collect"].alerts
    assert (alert.muted_count, len(alert.muted), alert.muted[0]) == (
        60,
        50,
        "job-00: checkpoint.declined",
    )


def test_when_the_cluster_is_seen_again_what_still_fires_surfaces_in_one_notice():
    rows = [opened(0, f"job-{number:02}") for number in range(10)]
    dark = unreachable(0)
    look(30)
    for row in rows[:4]:
        closed(row, 300, last_seen=0)
    closed(dark, 600)
    looks(615, 1_500)
    assert sorted(
        (notice.group, notice.kind, notice.firing_total, notice.alerts_total)
        for notice in told()[1:]
    ) == [
        ("prod-eu/checkpoint", "firing", 6, 6),
        ("prod-eu/collect", "resolved", 0, 1),
    ]


def test_what_was_told_before_the_dark_and_ended_in_it_gets_its_end():
    row = opened(0)
    look(30)
    dark = unreachable(100)
    look(130)
    closed(row, 200, last_seen=100)
    closed(dark, 600)
    looks(615, 1_500)
    assert [(notice.group, notice.kind) for notice in told()] == [
        ("prod-eu/checkpoint", "firing"),
        ("prod-eu/collect", "firing"),
        ("prod-eu/checkpoint", "resolved"),
        ("prod-eu/collect", "resolved"),
    ]


def test_what_is_seen_while_its_cluster_is_not_is_told_at_once():
    unreachable(0)
    look(30)
    opened(60)
    looks(75, 120)
    assert [notice.group for notice in told()] == ["prod-eu/collect", "prod-eu/checkpoint"]


def test_what_was_held_back_is_told_when_it_is_seen_again_though_the_cluster_is_not():
    unreachable(100)
    row = opened(50)
    look(130)
    assert the_alert_of(row).muted_by == "unreachable"
    Finding.objects.filter(pk=row.pk).update(last_seen=at(160))
    looks(165, 200)
    assert (the_alert_of(row).muted_by, the_alert_of(row).notified) == ("", "firing")


def test_what_is_held_back_by_a_cluster_that_comes_and_goes_is_told_when_it_has_come():
    for start in (0, 120, 240):
        dark = unreachable(start)
        look(start + 1)
        closed(dark, start + 60)
        look(start + 61)
    row = opened(0)
    looks(315, 420)
    assert the_alert_of(row).notified == "firing"


def test_what_is_critical_and_is_over_before_its_cluster_is_seen_again_is_told_then():
    dark = unreachable(100)
    critical, warning = (
        opened(50, job, severity=severity)
        for job, severity in (("orders", "critical"), ("clicks", "warning"))
    )
    look(130)
    for row in (critical, warning):
        closed(row, 140, last_seen=60)
    looks(150, 590)
    assert {notice.group for notice in told()} == {"prod-eu/collect"}
    closed(dark, 600)
    looks(615, 1_500)
    of_jobs = [notice for notice in told() if notice.group == "prod-eu/checkpoint"]
    assert [(notice.kind, [one.job_name for one in notice.alerts]) for notice in of_jobs] == [
        ("resolved", ["orders"]),
    ]


def silent_of(silent: int, watched: int, suspended: int = 0) -> str:
    """Why an alert of the first is held back."""
    for number in range(watched + suspended):
        cluster(
            f"c{number}", at=T0, operator_state=OperatorState.SUSPENDED if number >= watched else ""
        )
    for number in range(silent):
        unreachable(0, f"c{number}")
    row = opened(0, cluster="c0")
    look(30)
    return the_alert_of(row).muted_by


@pytest.mark.parametrize(
    ("silent", "watched"), [(1, 1), (1, 2), (2, 2), (2, 3), (2, 4), (3, 4), (3, 5)]
)
def test_when_half_of_the_clusters_are_silent_at_once_nothing_is_held_back(silent, watched):
    assert silent_of(silent, watched) == ""


@pytest.mark.parametrize(("silent", "watched"), [(1, 3), (2, 5), (4, 9)])
def test_when_fewer_are_silent_they_are_what_is_not_seen(silent, watched):
    assert silent_of(silent, watched) == "unreachable"


def test_clusters_that_are_suspended_are_none_of_those_that_are_seen():
    assert silent_of(2, 3, suspended=4) == ""


def critical_that_ended_in_the_dark(ended: float) -> Finding:
    """Of a cluster that is not seen from 40 to 600."""
    dark = unreachable(40)
    row = opened(30, severity="critical")
    look(130)
    closed(row, ended, last_seen=35)
    look(ended + 10)
    closed(dark, 600)
    return row


def silence(since: float) -> None:
    actions.silence(
        parse_lines("cluster=prod-eu"),
        at(since),
        at(9_000),
        "known",
        person(operator=True),
        at(since),
    )


def test_what_is_critical_and_ended_in_the_dark_is_told_though_people_mute_its_cluster_afterwards():
    row = critical_that_ended_in_the_dark(140)
    silence(600)
    looks(600, 1_500)
    assert [notice.kind for notice in told() if notice.group == "prod-eu/checkpoint"] == [
        "resolved"
    ]
    assert the_alert_of(row).notified_at is not None


def test_what_is_critical_and_was_muted_by_people_before_it_ended_in_the_dark_is_said_to_be_untold():
    silence(100)
    row = critical_that_ended_in_the_dark(140)
    looks(615, 1_500)
    assert "prod-eu/checkpoint" not in {notice.group for notice in told()}
    assert the_alert_of(row).notified_at is None
    assert the_alert_of(row).events.filter(kind=EventKind.NOT_NOTIFIED).count() == 1


def test_what_is_critical_and_still_there_when_its_cluster_is_seen_again_is_told():
    dark = unreachable(40)
    row = opened(30, severity="critical")
    look(130)
    assert the_alert_of(row).muted_by == "unreachable"
    closed(dark, 600)
    looks(615, 700)
    assert (the_alert_of(row).muted_by, the_alert_of(row).notified) == ("", "firing")


def the_alert_of(row):
    return Alert.objects.get(finding=row)


def test_silenced_it_is_not_told_until_the_silence_ends():
    actions.silence(
        parse_lines('job=~"ord.*"'), at(0), at(3_600), "known", person(operator=True), at(0)
    )
    opened(0)
    looks(15, 120)
    assert kinds() == [] and the_alert().muted_by == "silence"
    looks(3_600, 3_660)
    assert kinds() == ["firing"]


def test_what_ends_within_a_silence_is_never_told():
    actions.silence(
        parse_lines("cluster=prod-eu"), at(0), at(3_600), "known", person(operator=True), at(0)
    )
    closed(opened(0), 30)
    looks(60, 400)
    look(3_700)
    assert kinds() == [] and the_alert().state == AlertState.RESOLVED


def test_a_silence_that_is_ended_early_lets_go_at_once():
    olga = person(operator=True)
    made = actions.silence(parse_lines("cluster=prod-eu"), at(0), at(3_600), "known", olga, at(0))
    opened(0)
    look(30)
    actions.end_silence(made, olga, at(60))
    looks(75, 120)
    assert kinds() == ["firing"]


def test_a_rule_that_is_switched_off_for_a_job_alerts_no_more_and_says_so():
    opened(0)
    opened(0, "clicks")
    look(30)
    row = Finding.objects.get(job_name="orders")
    from tests.webapp.builders import job

    job(at=T0, cluster=row.cluster, job_id=row.job_id)
    setting_actions.save(
        row.rule,
        row.cluster,
        row.job_id,
        {"alerts": False},
        person(operator=True),
    )
    looks(45, 400)
    assert kinds() == ["firing", "resolved"]
    assert [one.job_name for one in told()[1].alerts if one.status == "resolved"] == [
        "orders"
    ] and told()[1].firing_total == 1


def test_a_hold_time_before_firing_keeps_short_ones_quiet():
    setting_actions.save(
        "checkpoint.declined",
        "",
        "",
        {"hold_before_s": 300},
        person(operator=True),
    )
    closed(opened(0), 30)
    opened(0, "clicks")
    looks(30, 400)
    assert kinds() == ["firing"] and [one.job_name for one in told()[0].alerts] == ["clicks"]


def test_a_severity_that_somebody_set_is_told_instead_of_the_rules_own():
    setting_actions.save(
        "checkpoint.declined",
        "",
        "",
        {"severity": "critical"},
        person(operator=True),
    )
    opened(0)
    look(30)
    assert told()[0].alerts[0].severity == "critical"


def test_while_a_run_is_being_loaded_its_findings_are_waited_for():
    made = Manifest.objects.create(attempt="a", path="p", state=Manifest.State.WRITTEN)
    Manifest.objects.filter(pk=made.pk).update(created_at=at(20))
    opened(0, "orders")
    look(30)
    assert kinds() == []
    opened(0, "clicks")
    Manifest.objects.filter(pk=made.pk).update(state=Manifest.State.LOADED)
    look(35)
    assert [notice.alerts_total for notice in told()] == [2]


def test_more_alerts_than_a_notice_lists_reach_everybody_they_concern(on_call):
    only_last = somebody_listens(matchers=[one.as_json() for one in parse_lines("job=job-349")])
    Finding.objects.bulk_create(
        [unsaved(0, f"job-{number:03}", job_id=f"{number:032x}") for number in range(350)]
    )
    look(30)
    all_of_them, (one,) = told(on_call), told(only_last)
    assert {(part.alerts_total, part.firing_total) for part in all_of_them} == {(350, 350)}
    assert len({alert.uid for part in all_of_them for alert in part.alerts}) == 350
    assert [alert.job_name for alert in one.alerts] == ["job-349"]


def test_a_look_that_fails_half_way_tells_nothing_twice(monkeypatch):
    """What was committed stays; the next look does the rest."""
    opened(0)

    class Lost(Exception): ...

    class Guard:
        writes = 0

        def writing(self):
            from django.db import transaction

            Guard.writes += 1
            if Guard.writes == 3:
                raise Lost
            return transaction.atomic()

    from webapp.alerting.evaluation import evaluate

    with pytest.raises(Lost):
        evaluate(at(30), Guard())
    assert kinds() == []
    look(45)
    look(60)
    assert kinds() == ["firing"]


def test_a_group_says_when_it_is_due():
    opened(0)
    look(5)
    assert AlertGroup.objects.get().next_due_at == at(10)
    look(30)
    group = AlertGroup.objects.get()
    assert (group.next_due_at, group.last_notified_at) == (None, at(30))


def test_many_open_alerts_cost_no_query_each(django_assert_max_num_queries):
    Finding.objects.bulk_create(
        [unsaved(0, f"job-{number}", job_id=f"{number:032x}") for number in range(300)]
    )
    look(30)
    with django_assert_max_num_queries(27):
        look(45)


def test_links_lead_back(settings):
    opened(0)
    look(30)
    links = told()[0].alerts[0].links
    assert links["alert"].endswith(f"/alerts/{the_alert().uid}") and links["runbook"].endswith(
        "#runbook-title"
    )
    assert set(links) == {"alert", "finding", "incident", "runbook", "job"} and all(
        link.startswith("http") for link in links.values()
    )


def test_an_alert_lasts_over_a_pause_shorter_than_its_hold():
    row = opened(0)
    look(30)
    closed(row, 60)
    look(75)
    opened(100)
    looks(105, 900)
    assert kinds() == ["firing"] and the_alert().firings == 2
