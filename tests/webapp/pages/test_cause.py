"""The cause card of a checkpoint."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import annotation, cluster, declined, expired, fact, finding, job
from webapp.checkpoints.reasons import WORDS, next_step
from webapp.lib.instants import epoch_ms

pytestmark = pytest.mark.django_db
QUERIES = 22


@pytest.fixture
def now():
    at = timezone.now().replace(microsecond=0)
    cluster(at=at)
    return at


@pytest.fixture
def of(now):
    return job(at=now, checkpoint_timeout_ms=4_000)


def url(one):
    return reverse(
        "checkpoint", args=(one.cluster, one.job_id, one.checkpoint_id, epoch_ms(one.trigger_time))
    )


def cause(client, one):
    return client.get(url(one)).context["cause"]


def about(of, at, number=15, **data):
    """A finding that names this checkpoint."""
    return finding(
        of,
        "checkpoint.expired",
        at,
        title=("3 checkpoints expired"),
        cause="The barrier was held.",
        next_step="Relieve slow-enrich.",
        subject_kind="job",
        subject_id=of.job_id,
        lasted=timedelta(minutes=1),
        data={"checkpoints": [number], **data},
    )


def test_an_expiry_says_in_plain_words_what_who_and_what_next(viewer, of, now):
    one = expired(of, 15, now - timedelta(minutes=1))
    told = cause(viewer, one)
    assert told.headline == "It was not acknowledged by every subtask before the time-out of 4.0 s."
    assert told.laggards == "3 of 11 subtasks: slow-enrich (3) on flink-tm-1, flink-tm-2"
    assert told.next_step.startswith("Find out what")


def test_the_finding_about_it_explains_it_and_names_who_held_the_barrier(viewer, of, now):
    one = expired(of, 15, now - timedelta(minutes=1))
    origin = finding(of, at=now)
    about(
        of,
        now,
        held_by={
            "vertex_id": "v3",
            "name": "slow-enrich",
            "path": ["Source: clicks", "parse", "slow-enrich"],
        },
    )
    told = cause(viewer, one)
    assert told.sentences == ("The barrier was held.",)
    assert told.next_step == "Relieve slow-enrich."
    assert (told.holder.name, told.holder.path[0], told.holder.finding.finding.pk) == (
        "slow-enrich",
        "Source: clicks",
        origin.pk,
    )
    assert f"/findings/{origin.pk}/" in viewer.get(url(one)).content.decode()


def test_without_such_a_finding_the_origin_of_its_time_is_named(viewer, of, now):
    one = expired(of, 15, now - timedelta(minutes=1))
    finding(of, at=now)
    assert cause(viewer, one).holder.name == "slow-enrich"


def test_an_origin_of_another_time_holds_nothing(viewer, of, now):
    one = expired(of, 15, now - timedelta(minutes=1))
    finding(of, at=now - timedelta(hours=3), state="closed")
    told = cause(viewer, one)
    assert told.holder is None
    assert told.no_holder == "No vertex was found to back-pressure others at that time."


def test_what_was_never_judged_is_not_called_free_of_pressure(viewer, now):
    of = job(at=now, health=None, health_state="unknown", judged_at=None)
    assert cause(viewer, expired(of, 15, now)).no_holder == "Not judged for that time."


def test_a_decline_shows_subtask_host_and_exception_on_the_card(viewer, of, now):
    page = viewer.get(url(declined(of, 3, now))).content.decode().split('class="grid kpis"')[0]
    for told in (
        "stateful/1",
        "flink-tm-1",
        "could not flush",
        "writing it to the checkpoint storage failed",
        "Look at the exception and at the storage",
    ):
        assert told in page, told


def test_what_changed_since_the_last_good_one_is_told(viewer, of, now):
    fact(of, 1, now - timedelta(minutes=9))
    expired(of, 2, now - timedelta(minutes=8))
    fact(of, 3, now - timedelta(minutes=7), is_savepoint=True)
    annotation(of, "restart", now - timedelta(minutes=6), "restart 1")
    one = fact(of, 4, now - timedelta(minutes=5), end_to_end_ms=9_000, checkpointed_bytes=7_000_000)
    comparison = viewer.get(url(one)).context["comparison"]
    assert (
        comparison.good.checkpoint_id,
        comparison.failed_between,
        comparison.savepoints_between,
    ) == (1, 1, 1)
    assert [one.label for one in comparison.annotations] == ["restart 1"]
    rows = {row.title: row for row in comparison.rows}
    assert (rows["End to end"].change, rows["End to end"].is_worse) == ("× 3.3", True)
    assert (rows["Uploaded"].before, rows["Uploaded"].now, rows["Uploaded"].is_worse) == (
        "700 kB",
        "7.0 MB",
        True,
    )
    assert rows["Sync"].change == "same"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "completed"),
        ({"end_to_end_ms": 9_000}, "completed, but slow"),
        ({"checkpointed_bytes": 7_000_000}, "completed, but large"),
        ({"end_to_end_ms": 3_500}, "completed"),
        ({"checkpointed_bytes": None, "state_bytes": 90_000_000}, "completed"),
    ],
)
def test_slow_and_large_are_measured_by_the_jobs_own_usual(viewer, of, now, fields, word):
    for number in range(1, 8):
        fact(of, number, now - timedelta(minutes=60 - number))
    assert cause(viewer, fact(of, 9, now, **fields)).badge.word == word


def test_a_partial_checkpoint_is_not_compared_by_size(viewer, of, now):
    fact(of, 1, now - timedelta(minutes=9))
    rows = viewer.get(url(expired(of, 2, now))).context["comparison"].rows
    assert [row.title for row in rows] == ["End to end", "Acknowledged subtasks"]


def test_a_full_upload_is_explained_by_its_finding(viewer, of, now):
    one = fact(of, 8, now - timedelta(minutes=1))
    finding(
        of,
        "checkpoint.full_after_savepoint",
        now - timedelta(minutes=1),
        severity="warning",
        subject_kind="checkpoint",
        subject_id=f"{epoch_ms(one.trigger_time)}",
        subject=("checkpoint 8"),
        title="Checkpoint 8 uploaded everything again",
        data={"checkpoints": [8]},
        lasted=timedelta(0),
    )
    told = cause(viewer, one)
    assert (told.badge.word, told.headline) == (
        "completed, but large",
        "Checkpoint 8 uploaded everything again",
    )


def test_a_completed_one_that_a_rule_calls_slow_is_not_green(viewer, of, now):
    one = fact(of, 8, now - timedelta(minutes=1))
    finding(
        of,
        "checkpoint.start_delay",
        now,
        severity="warning",
        subject_kind="job",
        subject_id="j",
        data={"checkpoints": [7, 8]},
    )
    told = cause(viewer, one)
    assert (told.badge.word, told.next_step) == (
        "completed, but slow",
        "Profile a slow-enrich task thread on flink-tm-2.",
    )


def test_the_first_checkpoint_has_nothing_before_it(viewer, of, now):
    page = viewer.get(url(fact(of, 1, now))).content.decode()
    assert "No completed checkpoint of this job is known before it" in page


def test_the_query_count_does_not_grow_with_history(viewer, of, now, django_assert_max_num_queries):
    one = expired(of, 999, now)
    for number in range(60):
        fact(of, number, now - timedelta(minutes=90 - number))
        finding(of, "checkpoint.declined", now, subject_id=str(number), state="closed")
    with django_assert_max_num_queries(QUERIES):
        viewer.get(url(one))


@pytest.mark.parametrize(
    "outcome", ["declined", "expired", "failed", "aborted", "preflight", "subsumed", "in_progress"]
)
@pytest.mark.parametrize("reason", [None, "SOMETHING_NEW", "CHECKPOINT_EXPIRED"])
def test_every_outcome_has_a_headline_whatever_the_reason(viewer, of, now, outcome, reason):
    told = cause(viewer, fact(of, 1, now, outcome=outcome, reason=reason))
    assert told.headline
    assert told.is_trouble == (outcome in ("declined", "expired", "failed"))


@pytest.mark.parametrize("reason", WORDS)
def test_every_known_reason_is_said_in_words(viewer, of, now, reason):
    told = cause(viewer, fact(of, 1, now, outcome="failed", reason=reason))
    assert reason not in told.headline
    assert told.next_step


def test_known_reasons_have_a_next_step():
    assert [reason for reason in WORDS if not next_step(reason, None)] == []
