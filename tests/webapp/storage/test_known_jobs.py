"""What an audit is told of jobs: only what was seen."""

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta

import pyarrow.parquet as pq
import pytest
from django.db.models import Q
from django.utils import timezone

from spark_jobs.fold.job_by_rest import job_reported
from tests.webapp.builders import cluster, fact, job
from webapp.fleet.models import JobCurrent, JobStart
from webapp.storage.auditing import known_jobs
from webapp.storage.auditing.audit_request import AuditRequest
from webapp.storage.choices import AuditPurpose

pytestmark = pytest.mark.django_db
NOW = timezone.now().replace(microsecond=0)


@pytest.fixture
def told(tmp_path):
    def write(left_out: Q = known_jobs.NO_JOBS) -> dict[str, dict]:
        known_jobs.write(str(tmp_path / "jobs.parquet"), NOW, left_out)
        return {row["name"]: row for row in pq.read_table(tmp_path / "jobs.parquet").to_pylist()}

    cluster(at=NOW)
    return write


def start(of: JobCurrent, at: datetime, tasks: int) -> None:
    JobStart.objects.create(
        **{name: getattr(of, name) for name in ("cluster", "job_id")},
        **dict.fromkeys(("at", "deployed_at", "running_at", "as_of"), at),
        **dict.fromkeys(("slots_ms", "deploy_ms", "stragglers", "held_up_ms"), 0),
        kind="restart",
        tasks=tasks,
        reported_by="rest",
        detail={},
    )


def ended(row: dict) -> list[tuple[int, bool, bool]]:
    return [
        (one["checkpoint_id"], one["completed"], one["discarded"])
        for one in row["checkpoints_ended"]
    ]


def test_only_a_job_seen_to_have_ended_is_terminal(told):
    job(at=NOW, name="gone", state="CANCELED", terminal=True)
    job(at=NOW, name="runs")
    job(at=NOW - timedelta(days=20), name="not heard of", terminal=None, state=None)
    job(at=NOW, name="not listed", state="NOT_LISTED", terminal=False, end_time=NOW)
    assert {name: row["terminal"] for name, row in told().items()} == {
        "gone": True,
        "runs": False,
        "not heard of": False,
        "not listed": False,
    }


def test_a_job_that_is_listed_no_more_is_told_as_if_it_still_ran(told):
    """Its checkpoint that was pending may have been completed since: nobody would have seen it."""

    def row(name: str, outcome: dict, **fields) -> dict:
        of = job(at=NOW, name=name, **fields)
        fact(of, 6, NOW - timedelta(hours=4), outcome="expired")
        fact(of, 7, NOW - timedelta(hours=2), end_time=NOW - timedelta(hours=1), **outcome)
        rows = told()
        return {key: rows[name][key] for key in rows[name].keys() - {"name", "job_id", "state"}}

    runs = row("runs", {"outcome": "in_progress", "final": False})
    missed = row(
        "missed",
        {"outcome": "aborted", "reason": "JOB_NOT_LISTED"},
        state="NOT_LISTED",
        terminal=False,
        end_time=NOW - timedelta(hours=1),
    )
    assert missed == runs
    assert missed["in_flight_since"] == NOW - timedelta(hours=2)
    assert ended(missed) == [(6, False, False)]


def test_jobs_of_a_cluster_that_cannot_be_seen_are_not_seen(told):
    cluster("dark", at=NOW - timedelta(hours=3), unreachable_since=NOW - timedelta(hours=2))
    job("dark", at=NOW, name="lost")
    job(at=NOW, name="seen")
    assert {name: row["seen"] for name, row in told().items()} == {"lost": False, "seen": True}


def test_jobs_of_a_cluster_that_was_removed_are_not_seen(told):
    job("removed", at=NOW, name="left")
    assert told()["left"]["seen"] is False


def test_of_clusters_of_then_jobs_that_began_later_are_left_out_and_those_of_others_are_told(told):
    then = NOW - timedelta(days=4)
    for name, began in (("before", then), ("later", NOW), ("without a start", None)):
        job("then", at=NOW, name=name, start_time=began, first_seen_at=NOW)
    job(at=NOW, name="restored since", start_time=NOW)
    asked = AuditRequest((), 72, AuditPurpose.COMMAND, as_of=then)
    assert told(asked.jobs_left_out()).keys() == {
        "before",
        "later",
        "without a start",
        "restored since",
    }
    assert told(replace(asked, clusters_of_then=("then",)).jobs_left_out()).keys() == {
        "before",
        "restored since",
    }
    assert (
        replace(asked, as_of=None, clusters_of_then=("then",)).jobs_left_out() == known_jobs.NO_JOBS
    )


def test_the_oldest_checkpoint_in_flight_and_the_newest_completed_are_told(told):
    of = job(at=NOW, name="x", last_completed_at=NOW - timedelta(hours=5))
    fact(of, 7, NOW - timedelta(hours=2), outcome="in_progress", final=False)
    fact(of, 8, NOW - timedelta(hours=1), outcome="in_progress", final=False)
    fact(of, 6, NOW - timedelta(hours=3), end_time=NOW - timedelta(hours=2, minutes=59))
    fact(of, 9, NOW - timedelta(minutes=9), end_time=NOW - timedelta(minutes=8), is_savepoint=True)
    row = told()["x"]
    assert row["in_flight_since"] == NOW - timedelta(hours=2)
    assert row["last_completed_at"] == NOW - timedelta(hours=2, minutes=59)


def test_since_when_no_attempt_of_a_job_with_forst_is_older_is_told(told):
    """The last start that all of its tasks had a part in."""
    starts = {
        "all": ((1, 3), (2, 3), (3, 2)),
        "none": ((1, 2),),
        "rocksdb": ((1, 3),),
        "ended": ((1, 3),),
        "unknown": ((1, 3),),
    }
    for name, of_job in starts.items():
        one = job(
            at=NOW,
            name=name,
            terminal=name == "ended",
            checkpoint_config={"state_backend": "RocksDB" if name == "rocksdb" else "ForSt"},
            graph={"vertices": [{"parallelism": 2}, {"parallelism": 1}]}
            if name != "unknown"
            else {"vertices": [{"parallelism": 2}, {"parallelism": None}]},
        )
        for days, tasks in of_job:
            at = NOW - timedelta(days=9 - days)
            start(one, at, tasks)
    assert {name: row["redeployed_at"] for name, row in told().items()} == {
        **dict.fromkeys(starts),
        "all": NOW - timedelta(days=7),
    }


def test_checkpoints_that_never_completed_or_were_discarded_are_told(told):
    of = job(at=NOW, name="x")
    fact(of, 1, NOW - timedelta(minutes=50), outcome="expired")
    fact(of, 2, NOW - timedelta(minutes=40), discarded=True)
    fact(of, 3, NOW - timedelta(minutes=30))
    fact(of, 4, NOW - timedelta(minutes=20), outcome="failed", reason="FINALIZE_CHECKPOINT_FAILURE")
    fact(of, 5, NOW - timedelta(minutes=10), outcome="aborted", is_savepoint=True)
    assert ended(told()["x"]) == [(2, True, True), (1, False, False)]


def test_an_id_that_another_checkpoint_used_too_is_not_told(told):
    """A job that starts again under its own id counts from 1 again."""
    of = job(at=NOW, name="x")
    fact(of, 1, NOW - timedelta(hours=5), outcome="declined")
    fact(of, 1, NOW - timedelta(hours=1))
    fact(of, 2, NOW - timedelta(hours=5), outcome="declined")
    assert ended(told()["x"]) == [(2, False, False)]


def test_the_same_job_id_on_two_clusters_is_two_jobs(told):
    cluster("other", at=NOW)
    one = job(at=NOW, name="one", job_id="d" * 32)
    two = job("other", at=NOW, name="two", job_id="d" * 32)
    fact(one, 1, NOW - timedelta(minutes=5), outcome="expired")
    fact(two, 2, NOW - timedelta(minutes=5), outcome="in_progress", final=False)
    rows = told()
    assert (ended(rows["one"]), ended(rows["two"])) == ([(1, False, False)], [])
    assert (rows["one"]["in_flight_since"], rows["two"]["in_flight_since"] is not None) == (
        None,
        True,
    )


@pytest.mark.parametrize("restored", [0, 1])
def test_a_restore_that_flink_counts_and_nobody_read_is_told(told, restored):
    answer = {"observed_at": 1, "checkpoints_total": 0, "checkpoints_restored": restored}
    reported = job_reported([defaultdict(lambda: None, answer)])
    job(at=NOW, name="x", flink_counts=reported["flink_counts"] | {"at": NOW.isoformat()})
    assert told()["x"]["restore_unread"] == bool(restored)


def test_many_jobs_cost_few_queries(told, django_assert_max_num_queries):
    for number in range(450):
        job(at=NOW, name=f"{number}")
    with django_assert_max_num_queries(30):
        assert len(told()) == 450


@pytest.mark.parametrize(
    ("counted_at", "known_at", "unread"),
    [(None, None, True), (0, None, False), (-5, None, True), (None, -9, False), (-5, -9, True)],
)
def test_that_nobody_read_what_a_job_completed_last_is_told(told, counted_at, known_at, unread):
    """Minutes after its end."""
    at, known = (
        None if minutes is None else NOW + timedelta(minutes=minutes)
        for minutes in (counted_at, known_at)
    )
    counts = None if at is None else {"at": at.isoformat(), "total": 0, "restored": 0}
    job(
        at=NOW,
        name="x",
        state="CANCELED",
        terminal=True,
        end_time=NOW,
        last_completed_at=known,
        flink_counts=counts,
    )
    assert told()["x"]["completed_unread"] == unread
