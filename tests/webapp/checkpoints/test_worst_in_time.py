"""What the database keeps of many checkpoints is what Python would keep of all of them."""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F, Q

from spark_jobs.serving import FAILED_OUTCOMES
from tests.webapp.builders import T0, cluster, job, unsaved_fact
from tests.webapp.charts.drawn import drawn_of, worst_in_buckets
from webapp.charts.sizes import SizePoint
from webapp.checkpoints import querysets, worst_in_time
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.worst_in_time import Selection

pytestmark = pytest.mark.django_db
ROWS = 1_500


@pytest.fixture
def facts() -> Any:
    """Of two attempts, as they come: at round times and at odd ones, several at once, figures
    missing and alike.
    """
    draw = random.Random(7)
    cluster(at=T0)
    attempts = [job(at=T0, name=name) for name in ("earlier", "later")]
    another = job(at=T0, name="another")
    rows = [
        unsaved_fact(
            draw.choice(attempts),
            number,
            T0
            + timedelta(minutes=draw.randrange(40_000), milliseconds=draw.choice((0, 0, 1, 999))),
            outcome=draw.choice(("completed",) * 6 + ("expired", "declined", "in_progress")),
            is_savepoint=draw.choice((None, False, False, False, True)),
            end_to_end_ms=draw.choice((None, 0, 900, draw.randrange(10**6))),
            state_bytes=draw.choice((None, 5, draw.randrange(10**12))),
            checkpointed_bytes=draw.choice((None, 0, 7, draw.randrange(10**9))),
        )
        for number in range(ROWS)
    ]
    CheckpointFact.objects.bulk_create(
        [*rows, unsaved_fact(another, 1, T0, outcome="expired", end_to_end_ms=10**7)]
    )
    return querysets.of_attempts(
        "prod-eu", [one.job_id for one in attempts], T0, T0 + timedelta(days=30)
    )


def ordered(facts: Any) -> list[CheckpointFact]:
    return list(facts.order_by("trigger_time", "id"))


def worst(rows: Sequence[CheckpointFact], limit: int) -> list[int]:
    def badness(row: CheckpointFact) -> Any:
        return row.outcome in FAILED_OUTCOMES, row.end_to_end_ms or 0

    return [row.pk for row in worst_in_buckets(rows, limit, lambda row: row.trigger_time, badness)]


@pytest.mark.parametrize("limit", [1, 7, 480, 1_000, ROWS - 1, ROWS])
def test_the_worst_of_each_slice_is_kept_and_all_are_counted(facts, limit):
    (found,) = worst_in_time.worst_in_time(facts, Selection(limit, querysets.WORST_FIRST, Q()))
    assert list(found.ids) == worst(ordered(facts), limit)
    assert found.total == ROWS


def test_of_more_than_a_month_the_newest_are_looked_at(facts, monkeypatch):
    monkeypatch.setattr(worst_in_time, "MOST_FACTS", 700)
    (found,) = worst_in_time.worst_in_time(facts, Selection(60, querysets.WORST_FIRST, Q()))
    assert list(found.ids) == worst(ordered(facts)[-700:], 60)
    assert found.total == 700


def test_checkpoints_of_one_instant_are_one_slice(facts):
    at = ordered(facts)[0].trigger_time
    CheckpointFact.objects.update(trigger_time=at)
    (found,) = worst_in_time.worst_in_time(facts, Selection(20, querysets.WORST_FIRST, Q()))
    assert list(found.ids) == worst(ordered(facts), 20)
    assert len(found.ids) == 1


def test_no_checkpoint_is_nothing(db):
    (found,) = worst_in_time.worst_in_time(
        CheckpointFact.objects.all(), Selection(20, [F("id").desc()], Q())
    )
    assert (list(found.ids), found.total) == ([], 0)


def test_sizes_are_those_that_python_would_draw_of_all_completed_ones(facts):
    every = [
        SizePoint(
            row.checkpoint_id,
            row.trigger_time,
            row.end_to_end_ms,
            row.state_bytes,
            row.checkpointed_bytes,
            bool(row.is_savepoint),
            row.job_id,
        )
        for row in ordered(facts)
        if row.outcome == "completed"
    ]
    assert querysets.sizes(facts) == drawn_of(every)


def test_where_no_full_size_is_known_sizes_are_uploads_only(facts):
    CheckpointFact.objects.update(state_bytes=None)
    found = querysets.sizes(facts)
    assert found is not None
    assert found.uploads_only
    assert not found.line
    CheckpointFact.objects.exclude(outcome="expired").delete()
    assert querysets.sizes(facts) is None
