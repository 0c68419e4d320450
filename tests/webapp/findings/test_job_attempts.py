"""A job is the same one under the id of each of its attempts: its findings, its health, its row."""

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from django.test import Client

from tests.webapp.findings.test_folding import (
    Row,
    found,
    judgement,
    load,
    minute,
    occurrence,
    recording,
)
from tests.webapp.pipeline.runs import job
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.findings.models import Finding
from webapp.fleet.attempts import attempt_ids
from webapp.fleet.models import JobCurrent

__all__ = ["recording"]
pytestmark = pytest.mark.usefixtures("recording")

FIRST, SECOND, OTHER = "a" * 32, "b" * 32, "c" * 32


def attempt(job_id: str, began: float, seen: float, end: float | None = None, **fields: Any) -> Row:
    """Minutes; ``end``: when it ended, None where it runs."""
    return job(
        cluster="c",
        job_id=job_id,
        **{
            "name": "orders",
            "state": "RUNNING" if end is None else "FAILED",
            "terminal": end is not None,
            "start_time": minute(began),
            "end_time": None if end is None else minute(end),
            "first_seen_at": minute(began),
            "last_seen_at": minute(seen),
            "as_of": minute(seen),
            **fields,
        },
    )


def seen_on(job_id: str, number: int, **fields: Any) -> Row:
    return occurrence(number, job_id=job_id, **fields)


def test_one_trouble_of_two_attempts_is_one_finding_seen_last_on_the_newer() -> None:
    load([judgement(0, 2, FIRST)], [seen_on(FIRST, 0)], [attempt(FIRST, -60, 3, end=3)])
    number = Finding.objects.get().pk
    load([judgement(3, 4, SECOND)], [seen_on(SECOND, 3)], [attempt(SECOND, 3, 5)])
    row = Finding.objects.get()
    assert (row.pk, row.job_id, row.first_attempt_id) == (number, SECOND, FIRST)
    assert found() == [("v", 1, 4, "open", None, "in window 3")]


@pytest.mark.parametrize("end", [3, 2.5], ids=["seen as it ended", "seen after its end"])
def test_a_finding_stays_open_over_a_new_attempt_until_its_hold_time_is_over(end: float) -> None:
    load([judgement(0, 2, FIRST)], [seen_on(FIRST, 2)], [attempt(FIRST, -60, 3, end=end)])
    assert [row[3] for row in found()] == ["closed"]
    load([judgement(3, 4, SECOND)], jobs=[attempt(SECOND, 3, 5)])
    assert [row[3] for row in found()] == ["open"]
    assert JobCurrent.objects.get(job_id=SECOND).health < 100
    load([judgement(5, 7, SECOND)], jobs=[attempt(SECOND, 3, 8)])
    assert [row[3:5] for row in found()] == [("closed", timedelta(minutes=6))]
    assert JobCurrent.objects.get(job_id=SECOND).health == 100


def test_an_attempt_follows_one_that_is_listed_no_more() -> None:
    """What is derived of it may be dated later than its last listing."""
    load([judgement(0, 2, FIRST)], [seen_on(FIRST, 2)], [attempt(FIRST, -60, 3)])
    missed = {"state": "NOT_LISTED", "end_time": minute(3)}
    load([], jobs=[attempt(FIRST, -60, 5, **missed)])
    assert [row[3] for row in found()] == ["closed"]
    load([judgement(4, 5, SECOND)], [seen_on(SECOND, 4)], [attempt(SECOND, 4, 6)])
    assert attempt_ids("c", SECOND) == [SECOND, FIRST]
    assert [row[3] for row in found()] == ["open"]
    assert Finding.objects.get().first_attempt_id == FIRST


def test_a_job_of_another_name_begins_with_nothing_found() -> None:
    load([judgement(0, 2, FIRST)], [seen_on(FIRST, 2)], [attempt(FIRST, -60, 3, end=3)])
    load([judgement(3, 4, OTHER)], jobs=[attempt(OTHER, 3, 5, name="payments")])
    assert [row[3] for row in found()] == ["closed"]
    assert JobCurrent.objects.get(job_id=OTHER).health == 100


def test_a_job_of_the_name_that_runs_beside_it_keeps_its_own_findings() -> None:
    load(
        [judgement(0, 2, FIRST), judgement(0, 2, OTHER)],
        [seen_on(FIRST, 2)],
        [attempt(FIRST, -60, 3), attempt(OTHER, -50, 3)],
    )
    assert Finding.objects.get().first_attempt_id == FIRST
    assert [JobCurrent.objects.get(job_id=job_id).health == 100 for job_id in (FIRST, OTHER)] == [
        False,
        True,
    ]


LOADS = (
    ([judgement(0, 2, FIRST)], [seen_on(FIRST, 0), seen_on(FIRST, 2)], FIRST),
    ([judgement(3, 4, SECOND)], [seen_on(SECOND, 4)], SECOND),
    ([judgement(3, 5, OTHER)], [seen_on(OTHER, 5)], OTHER),
)
ATTEMPTS = {
    FIRST: attempt(FIRST, -60, 3, end=3),
    SECOND: attempt(SECOND, 3, 5, end=5),
    OTHER: attempt(OTHER, 5, 6),
}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_attempts_that_are_loaded_in_any_order_make_the_same_finding(
    order: tuple[int, ...],
) -> None:
    for number in order:
        judgements, occurrences, job_id = LOADS[number]
        load(judgements, occurrences, [ATTEMPTS[job_id]])
    load([])
    assert found() == [("v", 1, 6, "open", None, "in window 5")]
    assert Finding.objects.get().first_attempt_id == FIRST
    assert attempt_ids("c", SECOND) == [SECOND, OTHER, FIRST]


def test_an_attempt_that_was_taken_for_a_job_of_its_own_brings_its_findings_along() -> None:
    """Its predecessor was thought to run: it is seen to have ended only later."""
    load([judgement(0, 2, FIRST)], [seen_on(FIRST, 2)], [attempt(FIRST, -60, 4)])
    load([judgement(3, 4, SECOND)], [seen_on(SECOND, 3)], [attempt(SECOND, 3, 5)])
    assert len(found()) == 2
    load([], jobs=[attempt(FIRST, -60, 6, end=3)])
    assert found() == [("v", 3, 4, "open", None, "in window 3")]


def test_the_first_attempt_stays_the_first_when_its_row_is_forgotten() -> None:
    load([judgement(0, 2, FIRST)], [seen_on(FIRST, 2)], [attempt(FIRST, -60, 3, end=3)])
    load([judgement(3, 4, SECOND)], [seen_on(SECOND, 3)], [attempt(SECOND, 3, 5)])
    JobCurrent.objects.filter(job_id=FIRST).delete()
    load([judgement(5, 5, SECOND)], [seen_on(SECOND, 5)], [attempt(SECOND, 3, 6, end=6)])
    load([judgement(6, 7, OTHER)], [seen_on(OTHER, 6)], [attempt(OTHER, 6, 8)])
    assert found() == [("v", 3, 7, "open", None, "in window 6")]
    assert {row.first_attempt_id for row in JobCurrent.objects.all()} == {FIRST}


def test_lists_have_one_row_a_job_however_often_it_was_submitted(operator: Client) -> None:
    ids = [f"{number:032x}" for number in range(1, 9)]
    load(
        [],
        jobs=[
            attempt(job_id, number, number + 1, end=None if number == 7 else number + 1)
            for number, job_id in enumerate(ids)
        ],
    )
    rows = operator.get("/api/v1/jobs/").json()["results"]
    assert [row["job_id"] for row in rows] == [ids[-1]]
    assert len(operator.get("/api/v1/jobs/?attempts=all").json()["results"]) == len(ids)
    (of_old_id,) = operator.get(f"/api/v1/jobs/?q={ids[2]}").json()["results"]
    assert of_old_id["job_id"] == ids[-1]
    page = operator.get("/")
    assert [job.job_id for job, *_ in page.context["rows"]] == [ids[-1]]
    assert page.context["totals"]["total"] == 1


def test_findings_and_alerts_are_listed_by_any_id_of_their_job(operator: Client) -> None:
    load([judgement(0, 2, FIRST)], [seen_on(FIRST, 2)], [attempt(FIRST, -60, 3, end=3)])
    load([judgement(3, 4, SECOND)], [seen_on(SECOND, 3)], [attempt(SECOND, 3, 5)])
    for job_id, count in ((FIRST, 1), (SECOND, 1), (OTHER, 0)):
        listed = operator.get(f"/api/v1/findings/?cluster=c&job_id={job_id}&state=any").json()
        assert len(listed["results"]) == count


FIXED = "0" * 32
"""Of the jobs of clusters of one application with high availability, one after the other."""


def open_alerts() -> list[str | None]:
    firing = Alert.objects.exclude(state="resolved")
    return [alert.job_name for alert in firing]


def test_an_id_with_another_start_is_another_attempt(operator: Client) -> None:
    ended = attempt(FIXED, -60, 3, end=3, restarts=9, restored_path="file:/old")
    load([judgement(0, 2, FIXED)], [seen_on(FIXED, 2)], [ended])
    load([judgement(4, 5, FIXED)], jobs=[attempt(FIXED, 4, 6)])
    row = JobCurrent.objects.get()
    assert (row.start_time, row.end_time, row.restarts) == (minute(4), None, None)
    assert row.health == 100 and [one[3:5] for one in found()] == [("closed", timedelta(minutes=3))]
    load([judgement(6, 7, FIXED)], [seen_on(FIXED, 6, job_name="orders")], [attempt(FIXED, 4, 8)])
    evaluate(minute(8))
    assert [(one[2], one[3]) for one in found()] == [(3, "closed"), (7, "open")]
    assert open_alerts() == ["orders"] and Alert.objects.count() == 1
    (listed,) = operator.get("/api/v1/jobs/").json()["results"]
    assert listed["start_time"].startswith(f"{minute(4):%Y-%m-%dT%H:%M:%S}")
    assert listed["health"] < 100


def test_another_job_that_gets_the_id_begins_with_nothing_found_and_nothing_fires() -> None:
    seen = seen_on(FIXED, 2, job_name="orders")
    load([judgement(0, 2, FIXED)], [seen], [attempt(FIXED, -60, 3)])
    evaluate(minute(3))
    assert open_alerts() == ["orders"]
    load([judgement(4, 5, FIXED)], jobs=[attempt(FIXED, 4, 6, name="payments")])
    evaluate(minute(6))
    assert [one[3:5] for one in found()] == [("closed", timedelta(minutes=4))]
    assert JobCurrent.objects.get().health == 100
    assert open_alerts() == []
