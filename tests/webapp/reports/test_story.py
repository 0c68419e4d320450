"""What a report says of rows: its two pages, its appendix, and what is not known."""

from datetime import timedelta

import pytest

from tests.webapp.builders import T0, annotation, event, expired, fact, finding, job
from tests.webapp.reports.stories import (
    MADE,
    expiring,
    facts,
    lines,
    part,
    parts,
    restarting,
    rows,
    scope,
    seen,
    table,
    told,
)
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.checkpoints.models import CheckpointRollup
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.scoped_rows import JobKey
from webapp.reports.gathering.incident import gather
from webapp.reports.report_scope import BadScope, checked

pytestmark = pytest.mark.django_db
COST, HAPPENED = "What it cost", "What happened"


@pytest.fixture(autouse=True)
def _cluster(db: None) -> None:
    seen()


def unknown(report) -> list[str]:
    return list(lines(report.pages, "What is not known"))


def titles(report, kind: str) -> list[str]:
    return [
        row["title"] for row in rows(part(report, "timeline"), "moments") if row["kind"] == kind
    ]


def test_the_pages_say_what_happened_when_why_what_it_cost_and_what_to_do():
    report = told(expiring())
    first, headline = report.pages, report.pages.verdict.sentence
    assert first.verdict.tone == "crit"
    assert headline.startswith("4 checkpoints expired after 4 s")
    assert lines(first, HAPPENED)[0] == "4 of 10 checkpoints failed: 4 expired, 6 completed."
    assert (
        facts(first)["when"]
        == "2026-03-01 03:59:00 – 04:08:00 UTC, for 9 min. Still going on when this report was made."
    )
    why = lines(first, "Why")
    assert why[0].startswith("slow-enrich back-pressures the whole job. ")
    assert why[1].startswith(headline)
    assert lines(first, COST)[0].startswith("No checkpoint completed for ")
    assert lines(first, "What to do") == (
        "Origin of back-pressure. Profile a slow-enrich task thread on flink-tm-2.",
        "Checkpoints expired. Find out why slow-enrich is slow.",
    )
    assert facts(first)["checkpoints_failed"] == 4


def test_what_explains_comes_before_what_it_explains_and_the_symptom_is_the_headline():
    report = told(expiring())
    rules = [facts(one.document)["rule"] for one in parts(report, "finding-")]
    assert rules[:2] == ["pressure.root", "checkpoint.expired"]
    assert report.title == "clickstream: Checkpoints expired"


def test_a_finding_is_in_the_appendix_with_its_evidence_and_the_way_to_its_page():
    one, *_ = parts(told(expiring()), "finding-")
    assert one.address == f"/findings/{one.key.removeprefix('finding-')}/"
    assert facts(one.document)["is_open"] is True
    assert [block.kind for block in one.document.blocks] == ["note", "facts", "table", "advice"]


def test_failures_of_one_reason_are_one_line_however_many_completed_between():
    assert titles(told(expiring()), "checkpoint") == ["4 checkpoints expired: 6 to 9"]
    of = job(at=T0)
    for number in range(80):
        (expired if number % 2 else fact)(of, number, T0 - timedelta(seconds=20 * (81 - number)))
    assert titles(told(of), "checkpoint") == ["40 checkpoints expired: 1 to 79"]


def test_restarts_are_reported_with_what_was_thrown():
    report = told(restarting())
    assert any(
        "restarted 3 times; thrown: java.net.ConnectException in slow-enrich (1/4)" in line
        for line in lines(report.pages, HAPPENED)
    )
    assert len(titles(report, "restart")) == 3
    assert rows(part(report, "job-"), "exceptions")[0]["count"] == 3


def test_restarts_are_counted_by_all_marks_of_the_time():
    of = job(at=T0, start_time=T0 - timedelta(hours=2))
    annotation(of, "restart", T0 - timedelta(hours=1), "before the report's time")
    annotation(of, "restart", T0 - timedelta(minutes=29), "two at once", detail={"count": 2})
    for number in range(300):
        annotation(of, "restart", T0 - timedelta(seconds=5 * number), "restart")
    report = told(of)
    assert facts(report.pages)["restarts"] == 302
    moments = table(part(report, "timeline"), "moments")
    assert (len(moments.rows), moments.total) == (250, 301)


def test_a_job_that_restarted_cost_something_even_where_its_downtime_is_not_known():
    cost = lines(told(restarting()).pages, COST)
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
    first, second = T0 - timedelta(minutes=6), T0 - timedelta(minutes=3)
    whole = {
        "began_at": first.isoformat(),
        "downtime_ms": 2_500,
        "restarts": 2,
        "parts_ms": {"detect": 26, "cancel": 500, "wait": 1_500, "redeploy": 300},
    }
    annotation(of, "restart", first, "restart", subject="", detail=whole)
    annotation(of, "restore", first + timedelta(seconds=2), "restored", subject="6")
    least = {"began_at": second.isoformat(), "downtime_at_least_ms": 2_000}
    annotation(of, "restart", second, "restart", subject="", detail=least)
    annotation(of, "restore", second + timedelta(seconds=2), "restored", subject="7")
    report = told(of)
    cost = lines(report.pages, COST)
    assert cost[:3] == (
        "Down for 2.5 s in 1 outage.",
        "For 1 restart it is not known when all tasks ran again, at least 2.0 s in all.",
        (
            "Processed again: the records of 3 min 20 s; the restored checkpoints were up to 2 min "
            "20 s old."
        ),
    )
    assert "At least 5.0 MB were uploaded for checkpoints that failed." in cost


def test_the_time_before_the_first_checkpoint_of_a_job_counts():
    of = job(at=T0, start_time=T0 - timedelta(minutes=20), checkpoint_interval_ms=10_000)
    for number in range(1, 60):
        at = T0 - timedelta(minutes=10) + timedelta(seconds=10 * number)
        fact(of, number, at, end_time=at)
    report = told(of)
    assert facts(report.pages)["longest_gap_ms"] == 610_000
    assert lines(report.pages, COST)[0].startswith("No checkpoint completed for 10 min 10 s")


def test_a_job_that_begins_well_has_no_cost():
    of = job(at=T0, start_time=T0 - timedelta(minutes=20), checkpoint_interval_ms=10_000)
    for number in range(1, 117):
        at = T0 - timedelta(minutes=20) + timedelta(seconds=20 + 10 * number)
        fact(of, number, at, end_time=at)
    assert lines(told(of).pages, COST) == ("None: no checkpoint failed and no job restarted.",)


def test_a_calm_job_is_reported_as_calm_and_a_job_that_nobody_judged_as_unknown():
    calm, unjudged = job(at=T0), job(at=T0, judged_at=None, health=None, health_state="unknown")
    fact(calm, 1, T0 - timedelta(minutes=1))
    verdict = told(calm).pages.verdict
    assert (verdict.tone, verdict.sentence) == ("ok", "Nothing was found wrong in this time")
    assert told(unjudged).pages.verdict.tone == "unknown"
    assert any("no rule has judged it" in line for line in unknown(told(unjudged)))


def test_the_worst_of_several_jobs_comes_first_and_each_has_a_line():
    calm, bad = job(at=T0, name="calm"), expiring()
    report = told(calm, bad)
    assert [one.title for one in parts(report, "job-")] == ["clickstream", "calm"]
    assert report.pages.verdict.sentence == "1 of 2 jobs in trouble, clickstream worst"
    assert len(lines(report.pages, HAPPENED)) == 2


def test_who_acknowledged_an_alert_is_part_of_the_time_line():
    of = expiring()
    evaluate(T0)
    alert = Alert.objects.get(rule="pressure.root")
    Alert.objects.filter(pk=alert.pk).update(
        acknowledged_name="vera",
        acknowledged_at=T0,
        acknowledge_comment="On it.",
    )
    report = told(of)
    acknowledged = [
        row for row in rows(part(report, "timeline"), "moments") if row["detail"] == "On it."
    ]
    assert acknowledged[0]["title"].startswith("vera acknowledged: ")


def test_the_longest_time_without_a_recovery_point_counts_from_before_the_range():
    of = job(at=T0, start_time=T0 - timedelta(days=1))
    fact(of, 1, T0 - timedelta(hours=3), end_time=T0 - timedelta(hours=3))
    fact(of, 2, T0 - timedelta(minutes=5), end_time=T0 - timedelta(minutes=5))
    gap_ms = facts(told(of).pages)["longest_gap_ms"]
    assert gap_ms == timedelta(hours=2, minutes=55) / timedelta(milliseconds=1)


def test_ranges_older_than_single_checkpoints_are_kept_are_counted_by_the_hour():
    old = T0 - timedelta(days=20)
    of = job(at=T0, start_time=old - timedelta(days=1))
    outcomes = ("declined", "expired", "subsumed", "aborted", "failed", "preflight")
    CheckpointRollup.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        period="hour",
        period_start=old.replace(minute=0),
        as_of=T0,
        in_progress_count=0,
        savepoint_count=0,
        completed_count=58,
        **{f"{outcome}_count": 0 for outcome in outcomes} | {"expired_count": 2},
    )
    expired(of, 1, old)
    asked = scope(of, start=old - timedelta(minutes=30), end=old + timedelta(minutes=30))
    report = gather(asked, uid="rep_x", made_at=T0, made_by="olga")
    assert lines(report.pages, HAPPENED) == (
        "2 of 60 checkpoints failed (by whole hours, savepoints included): 2 expired, "
        "58 completed.",
    )
    assert facts(report.pages)["longest_gap_ms"] is None
    assert any("no longer kept" in line for line in unknown(report))


def test_a_cluster_that_is_not_seen_is_reported_as_unknown():
    of = expiring()
    Cluster.objects.update(unreachable_since=MADE, last_error="connection refused")
    assert any("cannot be seen now (connection refused)" in line for line in unknown(told(of)))


def test_a_cluster_that_went_dark_is_the_headline_of_its_jobs():
    one, other = job(at=T0), job(at=T0)
    whole = JobCurrent(cluster=one.cluster, job_id="", name=None)
    dark = {"subject_kind": "cluster", "subject_id": "rest", "title": "prod-eu gave no data"}
    finding(whole, "collect.blind", T0, **dark)
    assert told(one, other).pages.verdict.sentence == "prod-eu gave no data"


def test_of_many_findings_the_worst_of_every_job_is_reported_and_what_is_left_out_is_counted():
    of, quiet = job(at=T0), job(at=T0, name="quiet")
    for number in range(130):
        finding(of, at=T0, subject_id=f"v{number}", title=f"finding {number}")
    finding(quiet, "data.skew", T0, severity="warning", title="uneven")
    report = told(of, quiet)
    found = parts(report, "finding-")
    assert (len(found), found[-1].document.verdict.sentence) == (120, "uneven")
    assert "11 less severe findings are left out." in unknown(report)


def test_the_queries_of_a_job_do_not_grow_with_its_rows(django_assert_max_num_queries):
    few = expiring()
    with django_assert_max_num_queries(60) as asked:
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


def test_a_savepoint_is_a_line_of_its_own_and_no_failure_of_a_checkpoint():
    of = job(at=T0)
    values = {"is_savepoint": True, "checkpoint_type": "SAVEPOINT", "outcome": "failed"}
    fact(of, 1, T0 - timedelta(minutes=3), **values)
    report = told(of)
    assert facts(report.pages)["checkpoints_failed"] == 0
    assert titles(report, "savepoint") == ["Savepoint 1 failed"]
