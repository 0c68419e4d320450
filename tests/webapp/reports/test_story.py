"""What a report says of rows: the first screen, the time line, and what is not known."""

from datetime import timedelta

import pytest

from tests.webapp.builders import T0, annotation, event, expired, fact, finding, job
from tests.webapp.reports.stories import MADE, expiring, restarting, scope, seen, told
from tests.webapp.storage.builders import audit, job_storage, root_figures
from webapp.accounts.models import User
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.checkpoints.models import CheckpointRollup
from webapp.fleet.models import Cluster, JobCurrent
from webapp.reports.gathering import alerts, checkpoint_figures, events, incident
from webapp.reports.gathering.incident import gather
from webapp.reports.gathering.scope import BadScope, JobKey, checked
from webapp.reports.renderers import html, markdown
from webapp.storage.models import StorageRoot

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _cluster(db: None) -> None:
    seen()


def test_the_first_screen_says_what_happened_when_why_what_it_cost_and_what_to_do():
    first = told(expiring()).summary
    assert first.tone == "crit"
    assert first.headline.startswith("4 checkpoints expired after 4 s")
    assert first.happened[0] == "4 of 10 checkpoints failed: 4 expired, 6 completed."
    assert (
        first.when
        == "2026-03-01 03:59:00 – 04:08:00 UTC, for 9 min. Still going on when this report was made."
    )
    assert [point.lead for point in first.cause] == [
        "slow-enrich back-pressures the whole job",
        first.headline,
    ]
    assert first.impact[0].startswith("No checkpoint completed for ")
    assert [point.text for point in first.actions] == [
        "Profile a slow-enrich task thread on flink-tm-2.",
        "Find out why slow-enrich is slow.",
    ]
    assert first.kpis[0].value == "4 of 10"


def test_what_explains_comes_before_what_it_explains_and_the_symptom_is_the_headline():
    document = told(expiring())
    assert [one.rule for one in document.findings][:2] == ["pressure.root", "checkpoint.expired"]
    assert document.title == "clickstream: Checkpoints expired"


def test_failures_in_a_row_are_one_line_and_the_way_back_another():
    lines = [
        moment.title
        for moment in told(expiring()).timeline
        if moment.kind in ("checkpoint", "recovered")
    ]
    assert lines == [
        "4 checkpoints expired: 6 to 9",
        "Checkpoint 10 completed, the first after 4 failures",
    ]


def test_failures_that_alternate_for_long_do_not_flood_the_time_line():
    of = job(at=T0)
    for number in range(80):
        (expired if number % 2 else fact)(of, number, T0 - timedelta(seconds=20 * (81 - number)))
    lines = [moment for moment in told(of).timeline if moment.kind == "checkpoint"]
    assert [line.title for line in lines] == ["40 checkpoints expired: 1 to 79"]
    assert "39 completed between them" in lines[0].detail


def test_restarts_are_told_with_what_was_thrown():
    document = told(restarting())
    assert any(
        "restarted 3 times; thrown: java.net.ConnectException in slow-enrich (1/4)" in line
        for line in document.summary.happened
    )
    assert [moment.kind for moment in document.timeline].count("restart") == 3
    assert document.stories[0].exceptions[0].more == 2


def test_exceptions_are_counted_by_all_of_their_name_in_the_time(monkeypatch):
    monkeypatch.setattr(events, "MOST_THROWN", 2)
    assert told(restarting()).stories[0].exceptions[0].more == 2


def test_restarts_are_counted_by_all_marks_of_the_time_and_marks_that_are_left_out_are_said():
    of = job(at=T0, start_time=T0 - timedelta(hours=2))
    annotation(of, "restart", T0 - timedelta(hours=1), "before the report's time")
    annotation(
        of, "restart", T0 - timedelta(minutes=29), "two between two answers", detail={"count": 2}
    )
    for number in range(150):
        annotation(
            of,
            "restart",
            T0 - timedelta(seconds=5 * number),
            "restart",
            detail={"began_at": T0.isoformat()} if number else None,
        )
        annotation(of, "failure", T0 - timedelta(seconds=5 * number + 1), "failed")
    document = told(of)
    assert (document.stories[0].restarts, len(document.stories[0].marks)) == (152, 200)
    assert [kpi.value for kpi in document.summary.kpis if kpi.label == "Restarts"] == ["152"]
    assert any("restarted 152 times" in line for line in document.summary.happened)
    assert document.summary.started_at == T0 - timedelta(minutes=29)
    said = (
        f"{of.name}: charts and the time line have the newest 200 of 301 marks, restarts among "
        "them."
    )
    assert said in document.cut
    for form in (html.render(document), markdown.render(document)):
        assert said in form and "152" in form


def test_checkpoints_are_counted_by_all_of_the_time_and_what_is_not_looked_at_is_said(monkeypatch):
    monkeypatch.setattr(checkpoint_figures, "MOST", 4)
    monkeypatch.setattr(incident, "MOST_CHECKPOINTS", 4)
    document = told(expiring())
    figures = document.stories[0].checkpoints
    assert (figures.settled, figures.completed, figures.failed, figures.by_outcome) == (
        10,
        6,
        4,
        {"expired": 4, "completed": 6},
    )
    assert any("those of the newest 4 checkpoints" in line for line in document.cut)


def test_outages_and_alerts_that_are_left_out_are_said(monkeypatch):
    monkeypatch.setattr(incident, "MOST_RESTARTS", 2)
    monkeypatch.setattr(alerts, "MOST", 1)
    expired_too = expiring()
    evaluate(T0)
    document = told(expired_too, restarting())
    assert "payments: outages are the newest 2; there were 3 restarts in this time." in document.cut
    assert "Alerts that are left out and not counted, the least severe: 1." in document.cut
    assert len(document.alerts) == 1


def test_a_job_that_restarted_cost_something_even_where_its_downtime_is_not_known():
    cost = told(restarting()).summary.impact
    assert cost[0].startswith("For 3 restarts it is not known when all tasks ran again")
    assert not any(line.startswith("None") for line in cost)


def test_the_cost_of_outages_is_their_downtime_and_what_was_processed_again():
    of = job(at=T0, start_time=T0 - timedelta(hours=2))
    fact(of, 6, T0 - timedelta(minutes=7), end_time=T0 - timedelta(minutes=7))
    fact(of, 7, T0 - timedelta(minutes=5, seconds=20), end_time=T0 - timedelta(minutes=5))
    expired(of, 8, T0 - timedelta(minutes=4), checkpointed_bytes=5_000_000)
    expired(of, 9, T0 - timedelta(minutes=2))
    # Of an ordinary cancel nothing is in vain.
    fact(of, 10, T0 - timedelta(minutes=1), outcome="aborted", checkpointed_bytes=7_000_000)
    parts = {
        "detect": 26,
        "cancel": 500,
        "wait": 1_500,
        "failed_attempts": None,
        "redeploy": 300,
        "restore": 200,
    }
    first, second = T0 - timedelta(minutes=6), T0 - timedelta(minutes=3)
    whole = {"began_at": first.isoformat(), "downtime_ms": 2_500, "restarts": 2, "parts_ms": parts}
    annotation(of, "restart", first, "restart", subject="", detail=whole)
    annotation(
        of,
        "restart",
        first + timedelta(seconds=1),
        "restart",
        subject="",
        detail={"outage_began_at": first.isoformat()},
    )
    annotation(of, "restore", first + timedelta(seconds=2), "restored", subject="6")
    annotation(
        of,
        "restart",
        second,
        "restart",
        subject="",
        detail={"began_at": second.isoformat(), "downtime_at_least_ms": 2_000},
    )
    annotation(of, "restore", second + timedelta(seconds=2), "restored", subject="7")
    document = told(of)
    one, other = document.stories[0].outages
    assert (one.downtime_ms, one.restarts, one.restored_id, one.reprocessed_ms) == (
        2_500,
        2,
        6,
        60_000,
    )
    assert (other.downtime_ms, other.at_least_ms, other.restored_id, other.reprocessed_ms) == (
        None,
        2_000,
        7,
        140_000,
    )
    assert dict(one.parts) == {name: ms for name, ms in parts.items() if ms is not None}
    assert document.summary.impact[:3] == (
        "Down for 2.5 s in 1 outage: 04:04:00 UTC 2.5 s.",
        "For 1 restart it is not known when all tasks ran again, at least 2.0 s in all.",
        (
            "Processed again: the records of 3 min 20 s; the restored checkpoints were up to 2 min "
            "20 s old."
        ),
    )
    assert any(
        line.startswith("5.0 MB were uploaded for checkpoints that failed") and "of 1 more" in line
        for line in document.summary.impact
    )


def test_a_quick_savepoint_does_not_stand_for_the_worst_of_its_slice():
    of = job(at=T0, start_time=T0 - timedelta(hours=2))
    took = {**dict.fromkeys(range(1, 30), 800), 9: 5_600}
    for number, ms in took.items():
        fact(of, number, T0 - timedelta(seconds=30 - number), end_to_end_ms=ms)
    fact(of, 30, T0 - timedelta(seconds=20), end_to_end_ms=827, is_savepoint=True)
    seen = checkpoint_figures.outlines(of, scope(of))
    assert 9 in {one.checkpoint_id for one in checkpoint_figures.points(seen, 5)}


def test_the_time_before_the_first_checkpoint_of_a_job_counts():
    of = job(at=T0, start_time=T0 - timedelta(minutes=20), checkpoint_interval_ms=10_000)
    for number in range(1, 60):
        at = T0 - timedelta(minutes=10) + timedelta(seconds=10 * number)
        fact(of, number, at, end_time=at)
    document = told(of)
    figures = document.stories[0].checkpoints
    assert (figures.longest_gap_ms, figures.gap_is_first, figures.gap_from) == (
        610_000,
        True,
        T0 - timedelta(minutes=20),
    )
    assert document.summary.impact[0].startswith("No checkpoint completed for 10 min 10 s")


def test_a_job_that_begins_well_has_no_cost():
    of = job(at=T0, start_time=T0 - timedelta(minutes=20), checkpoint_interval_ms=10_000)
    for number in range(1, 117):
        at = T0 - timedelta(minutes=20) + timedelta(seconds=20 + 10 * number)
        fact(of, number, at, end_time=at)
    assert told(of).summary.impact == ("None: no checkpoint failed and no job restarted.",)


def test_a_calm_job_is_told_as_calm_and_a_job_that_nobody_judged_as_unknown():
    calm, unjudged = job(at=T0), job(at=T0, judged_at=None, health=None, health_state="unknown")
    fact(calm, 1, T0 - timedelta(minutes=1))
    assert (told(calm).summary.tone, told(calm).summary.headline) == (
        "ok",
        "Nothing was found wrong in this time",
    )
    assert told(unjudged).summary.tone == "unknown"
    assert any("no rule has judged it" in line for line in told(unjudged).unknowns)


def test_the_worst_of_several_jobs_comes_first_and_each_has_a_line():
    calm, bad = job(at=T0, name="calm"), expiring()
    document = told(calm, bad)
    assert [story.name for story in document.stories] == ["clickstream", "calm"]
    assert document.summary.headline == "1 of 2 jobs in trouble, clickstream worst"
    assert len(document.summary.happened) == 2


def test_alerts_and_who_acknowledged_them_are_part_of_the_story():
    of = expiring()
    evaluate(T0)
    alert = Alert.objects.get(rule="pressure.root")
    vera = User.objects.create_user("vera")
    Alert.objects.filter(pk=alert.pk).update(
        acknowledged_by=vera,
        acknowledged_name="vera",
        acknowledged_at=T0,
        acknowledge_comment="On it.",
    )
    document = told(of)
    assert {one.rule for one in document.alerts} == {"pressure.root", "checkpoint.expired"}
    assert any(
        moment.title.startswith("vera acknowledged: ") and moment.detail == "“On it.”"
        for moment in document.timeline
    )


def test_the_longest_time_without_a_recovery_point_counts_from_before_the_range():
    of = job(at=T0, start_time=T0 - timedelta(days=1))
    fact(of, 1, T0 - timedelta(hours=3), end_time=T0 - timedelta(hours=3))
    fact(of, 2, T0 - timedelta(minutes=5), end_time=T0 - timedelta(minutes=5))
    figures = told(of).stories[0].checkpoints
    assert figures.longest_gap_ms == timedelta(hours=2, minutes=55) / timedelta(milliseconds=1)


def test_ranges_older_than_single_checkpoints_are_kept_are_counted_by_the_hour():
    old = T0 - timedelta(days=20)
    of = job(at=T0, start_time=old - timedelta(days=1))
    counts = {
        f"{outcome}_count": 0
        for outcome in ("declined", "expired", "subsumed", "aborted", "failed", "preflight")
    }
    CheckpointRollup.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        period="hour",
        period_start=old.replace(minute=0),
        as_of=T0,
        in_progress_count=0,
        savepoint_count=0,
        completed_count=58,
        **{**counts, "expired_count": 2},
    )
    expired(of, 1, old)
    asked = scope(of, start=old - timedelta(minutes=30), end=old + timedelta(minutes=30))
    document = gather(asked, uid="rep_x", made_at=T0, made_by="olga")
    figures = document.stories[0].checkpoints
    assert (figures.completed, figures.failed, figures.by_hours, figures.longest_gap_ms) == (
        58,
        2,
        True,
        None,
    )
    assert any("no longer kept" in line for line in document.unknowns)


def test_a_cluster_that_is_not_seen_is_said_to_be_unknown():
    of = expiring()
    Cluster.objects.update(unreachable_since=MADE, last_error="connection refused")
    assert any("cannot be seen now (connection refused)" in line for line in told(of).unknowns)


def test_findings_of_the_cluster_as_a_whole_belong_to_the_story():
    of = job(at=T0)
    whole = JobCurrent(cluster=of.cluster, job_id="", name=None)
    finding(
        whole,
        "collect.blind",
        T0,
        subject_kind="cluster",
        subject_id="rest",
        title="prod-eu gave no data",
    )
    assert told(of).findings[0].title == "prod-eu gave no data"


def test_a_cluster_that_went_dark_is_the_headline_of_its_jobs():
    one, other = job(at=T0), job(at=T0)
    whole = JobCurrent(cluster=one.cluster, job_id="", name=None)
    finding(
        whole,
        "collect.blind",
        T0,
        subject_kind="cluster",
        subject_id="rest",
        title="prod-eu gave no data",
    )
    assert told(one, other).summary.headline == "prod-eu gave no data"


def test_of_many_findings_the_worst_of_every_job_is_told():
    of, quiet = job(at=T0), job(at=T0, name="quiet")
    for number in range(130):
        finding(of, at=T0, subject_id=f"v{number}", title=f"finding {number}")
    finding(quiet, "data.skew", T0, severity="warning", title="uneven")
    document = told(of, quiet)
    assert len(document.findings) == 120
    assert document.findings[-1].title == "uneven"


def test_log_lines_of_a_kind_are_told_twice_and_then_counted():
    of = job(at=T0)
    for number in range(9):
        event(
            of,
            "tm_heartbeat_timeout",
            T0 - timedelta(seconds=number),
            f"line {number}",
            level="WARN",
        )
    lines = told(of).stories[0].logs
    assert (len(lines), lines[-1].more) == (2, 7)


def test_what_is_left_out_is_said():
    of = job(at=T0)
    for number in range(130):
        finding(of, at=T0, subject_id=f"v{number}", title=f"finding {number}")
    document = told(of)
    assert len(document.findings) == 120
    assert "10 less severe findings are left out." in document.cut


def test_the_queries_of_a_job_do_not_grow_with_its_rows(django_assert_max_num_queries):
    few = expiring()
    with django_assert_max_num_queries(48) as asked:
        told(few)
    for number in range(100, 160):
        expired(few, number, T0 - timedelta(seconds=number))
        event(few, "late_message", T0 - timedelta(seconds=number))
    # What was worked out a moment ago is kept and not asked again.
    with django_assert_max_num_queries(len(asked)):
        told(few)


@pytest.mark.parametrize(
    ("jobs", "hours", "said"),
    [
        (0, 1, "Choose at least one job."),
        (51, 1, "A report covers at most 50 jobs; 51 are chosen."),
        (1, -1, "The time has to end after it starts."),
        (1, 24 * 40, "A report spans at most 31 days; make several."),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(jobs, hours, said):
    with pytest.raises(BadScope) as refused:
        checked(
            [JobKey("c", str(number)) for number in range(jobs)], T0, T0 + timedelta(hours=hours)
        )
    assert str(refused.value) == said


def test_the_jobs_directories_are_told_by_their_newest_audit():
    of = job(at=T0)
    for name, at, orphans in (("old", T0 - timedelta(hours=6), 1), ("new", T0, 500)):
        made = audit(name, as_of=at)
        root_figures(made, "hdfs://ns/flink")
        job_storage(
            made, of.job_id, cluster=of.cluster, orphan_bytes=orphans, uri="hdfs://ns/flink"
        )
    places = told(of).stories[0].storage
    assert [(place.orphan_bytes, place.as_of, place.raw_bytes) for place in places] == [
        (500, T0, None)
    ]
    StorageRoot.objects.create(uri="hdfs://ns/flink", replication=3)
    (place,) = told(of).stories[0].storage
    assert place.raw_bytes == 3 * place.bytes


def test_configuration_is_told_with_its_time_and_without_secrets():
    of = job(
        at=T0,
        configuration={"s3.secret-key": "canary", "state.backend": "rocksdb"},
        last_seen_at=T0 + timedelta(days=1),
    )
    document = told(of)
    assert dict(document.stories[0].configuration)["s3.secret-key"] == "******"
    assert any("whether it was the same before is not known" in line for line in document.unknowns)


def test_a_savepoint_is_a_line_of_its_own_and_no_failure_of_a_checkpoint():
    of = job(at=T0)
    fact(
        of,
        1,
        T0 - timedelta(minutes=3),
        is_savepoint=True,
        checkpoint_type="SAVEPOINT",
        outcome="failed",
    )
    document = told(of)
    assert (
        document.stories[0].checkpoints.settled,
        document.stories[0].checkpoints.savepoints,
    ) == (0, 1)
    assert [moment.title for moment in document.timeline] == ["Savepoint 1 failed"]
