"""What if checkpoints were regional: the job's and the fleet's rates by their own rows, through page, API and command."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import call_command
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
    """Ten regions of two tasks; 80 checkpoints completed, 20 failed. Of a job beside it, of 100 tasks, 5 of 20 failed."""
    cache.clear()
    one = job(at=T0, graph=PLAN, recent_total=20, recent_failed=4, terminal=False)
    for number in range(100):
        (expired if number % 5 == 0 else fact)(one, number, T0 - timedelta(minutes=number + 1))
    beside = {**PLAN, "vertices": [{"vertex_id": "w", "name": "w", "parallelism": 100}], "edges": []}
    job(at=T0, job_id="d" * 32, name="beside", graph=beside, recent_total=20, recent_failed=5, terminal=False)
    return one


def answer(viewer, of, **asked):
    return viewer.get(reverse("api-job-recovery", args=(of.cluster, of.job_id)), asked).json()["failover"]["checkpoints"]


def test_shares_are_those_of_the_model_at_the_rates_of_the_rows(viewer, of):
    found = answer(viewer, of, share=10, reuse=2)
    assert (found["completed"], found["failed"], found["fleet_jobs"]) == (80, 20, 2)
    assert found["task_success"] == pytest.approx(0.8 ** (1 / 20))
    assert 0.75 ** (1 / 100) > found["fleet_success"] > 0.8 ** (1 / 20)
    points = {one["parallelism"]: one for one in found["curve"]}
    assert sorted(points) == [2, 5, 10, 20, 40, 80, 160]
    assert [(one["tasks"], one["regions"]) for one in points.values()] == [(2 * p, p) for p in points]
    now = points[10]
    assert now["is_now"] and now["own"]["full"] == pytest.approx(0.8)
    assert now["own"]["by_region"] == pytest.approx(regional_share(1 - 0.8 ** (1 / 10), 10, 1, 2))
    assert now["own"]["by_subtask"] == pytest.approx(regional_share(1 - 0.8 ** (1 / 20), 20, 2, 2))
    assert points[160]["own"]["full"] == pytest.approx(0.8**16) and points[160]["own"]["by_region"] > 0.5


def test_without_either_limit_a_regional_checkpoint_is_a_full_one(viewer, of):
    for asked in ({"share": 0}, {"reuse": 0}):
        for one in answer(viewer, of, **asked)["curve"]:
            assert one["own"]["by_region"] == pytest.approx(one["own"]["full"])


def test_page_api_and_command_say_the_same(viewer, of):
    found = answer(viewer, of, share=10, reuse=2)
    page = viewer.get(reverse("recovery", args=(of.cluster, of.job_id)), {"share": 10, "reuse": 2}).content.decode()
    said = "20 of its 100 checkpoints failed, as if each task completed its part in 98.8905 % of them. By region"
    assert said in page
    assert 'name="share" type="number" min="0" max="100" value="10"' in page
    out = StringIO()
    call_command("recovery", of.cluster, of.job_id, "--json", "--share", "10", "--reuse", "2", stdout=out)
    assert json.loads(out.getvalue())["failover"]["checkpoints"] == found
    out = StringIO()
    call_command("recovery", of.cluster, of.job_id, "--share", "10", "--reuse", "2", stdout=out)
    assert said in out.getvalue()


def test_where_none_failed_only_a_lower_bound_is_known(viewer):
    cache.clear()
    of = job(at=T0, graph=PLAN)
    for number in range(60):
        fact(of, number, T0 - timedelta(minutes=number + 1))
    found = answer(viewer, of)
    assert (found["task_success"], found["at_least"]) == (1, pytest.approx((1 - 3 / 60) ** (1 / 20)))
    assert "None of its 60 checkpoints failed" in viewer.get(reverse("recovery", args=(of.cluster, of.job_id))).content.decode()


def test_a_job_without_checkpoints_and_a_job_of_one_region_say_so(viewer):
    cache.clear()
    of = job(at=T0, graph={**PLAN, "edges": [{"source": "v0", "target": "v1", "ship_strategy": "HASH"}]})
    page = reverse("recovery", args=(of.cluster, of.job_id))
    assert "How often its tasks fail a checkpoint is not known" in viewer.get(page).content.decode()
    assert answer(viewer, of)["task_success"] is None
    for number in range(19):
        fact(of, number, T0 - timedelta(minutes=1, seconds=number))
    assert "not known: 19 of the last days were seen to their end, of at least 20" in viewer.get(page).content.decode()
    expired(of, 19, T0 - timedelta(minutes=2))
    assert "All its tasks are one region" in viewer.get(page).content.decode()
