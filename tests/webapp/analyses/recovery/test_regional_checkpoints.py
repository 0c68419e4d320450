"""If checkpoints were regional: the job's rate by its own rows, through the analysis."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse

from spark_jobs.diagnosis.regional_model import regional_share
from tests.webapp.builders import T0, expired, fact, job

pytestmark = pytest.mark.django_db
PLAN = {
    "vertices": [{"vertex_id": f"v{at}", "name": f"v{at}", "parallelism": 10} for at in range(2)],
    "edges": [{"source": "v0", "target": "v1", "ship_strategy": "FORWARD"}],
}


@pytest.fixture
def of():
    """Ten regions of two tasks; 80 checkpoints completed, 20 failed."""
    cache.clear()
    one = job(at=T0, graph=PLAN)
    for number in range(100):
        (expired if number % 5 == 0 else fact)(one, number, T0 - timedelta(minutes=number + 1))
    return one


def answer(viewer, of):
    address = reverse("api-job-analysis-one-task-fails", args=(of.cluster, of.job_id))
    return viewer.get(address).json()["blocks"]


def regional(viewer, of):
    return next(one for one in answer(viewer, of) if one.get("key") == "regional")


def test_shares_are_those_of_the_model_at_the_rate_of_the_rows(viewer, of):
    found = regional(viewer, of)
    said = (
        "20 of its 100 checkpoints failed, as if each task completed its part in 98.8905 % of "
        "them ("
    )
    assert said in found["note"] and "or more with 95 % confidence). By region" in found["note"]
    points = {one["parallelism"]: one for one in found["rows"]}
    assert sorted(points) == [2, 5, 10, 20, 40, 80, 160]
    assert [(one["tasks"], one["regions"]) for one in points.values()] == [
        (2 * p, p) for p in points
    ]
    now = points[10]
    assert now["is_now"] and now["full"] == pytest.approx(0.8)
    # Clopper and Pearson, one-sided: 1 - beta.ppf(0.95, 21, 80).
    assert now["full_at_least"] == pytest.approx(0.7228, abs=1e-3)
    assert now["by_region"] == pytest.approx(regional_share(1 - 0.8 ** (1 / 10), 10, 3, 2))
    assert "at most 30" in found["subtitle"]
    assert points[160]["full"] == pytest.approx(0.8**16) and points[160]["by_region"] > 0.5


def test_where_none_failed_only_a_lower_bound_is_known(viewer):
    cache.clear()
    of = job(at=T0, graph=PLAN)
    for number in range(60):
        fact(of, number, T0 - timedelta(minutes=number + 1))
    lowest = 0.05 ** (1 / 60 / 20)
    found = regional(viewer, of)
    assert "None of its 60 checkpoints failed" in found["note"]
    assert f"{lowest * 100:.6g} % or more" in found["note"]
    points = {one["parallelism"]: one for one in found["rows"]}
    assert {one["full"] for one in points.values()} == {None}
    assert points[10]["full_at_least"] == pytest.approx(0.05 ** (1 / 60))
    assert points[160]["full_at_least"] == pytest.approx(0.05 ** (16 / 60))
    assert points[160]["by_region_at_least"] > 0.9


def test_few_checkpoints_show_how_little_they_prove(viewer):
    """Twenty without a failure prove no more of sixteen times the parallelism than 9 %."""
    cache.clear()
    of = job(at=T0, graph=PLAN)
    for number in range(20):
        fact(of, number, T0 - timedelta(minutes=number + 1))
    points = {one["parallelism"]: one for one in regional(viewer, of)["rows"]}
    assert points[160]["full"] is None
    assert points[160]["full_at_least"] == pytest.approx(0.05 ** (16 / 20))


def test_a_job_without_checkpoints_and_a_job_of_one_region_say_so(viewer):
    cache.clear()
    of = job(
        at=T0, graph={**PLAN, "edges": [{"source": "v0", "target": "v1", "ship_strategy": "HASH"}]}
    )

    def reason():
        return next(one["reason"] for one in answer(viewer, of) if one["kind"] == "not_known")

    assert "How often its tasks fail a checkpoint is not known" in reason()
    for number in range(19):
        fact(of, number, T0 - timedelta(minutes=1, seconds=number))
    assert "not known: 19 checkpoints of the last days have ended, of at least 20" in reason()
    expired(of, 19, T0 - timedelta(minutes=2))
    assert "All its tasks are one region" in reason()


def test_a_strategy_that_restarts_all_of_several_regions_is_warned_of(viewer):
    of = job(at=T0, graph=PLAN, configuration={"jobmanager.execution.failover-strategy": "full"})
    address = reverse("api-job-analysis-one-task-fails", args=(of.cluster, of.job_id))
    verdict = viewer.get(address).json()["verdict"]
    assert (verdict["tone"], "10 regions" in verdict["sentence"]) == ("warn", True)
