"""Growth of jobs: summed up from days, then shown by the page and the API."""

import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from tests.webapp.builders import cluster, job
from tests.webapp.growth.days import MIB, NOW, audited, day, rolled
from webapp.growth.models import JobGrowth, StoredDay
from webapp.growth.sorting import SORTS
from webapp.growth.summing import sum_cluster
from webapp.work.models import DueWork
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_that_time(monkeypatch):
    cache.clear()
    monkeypatch.setattr(timezone, "now", lambda: NOW)


class Unleased:
    def writing(self):
        from django.db import transaction

        return transaction.atomic()


def summed(name="prod-eu"):
    sum_cluster(name, NOW, Unleased())


def growth_of(of, window=30):
    return JobGrowth.objects.get(job_id=of.job_id, window_days=window)


@pytest.fixture
def growing():
    """60 days of 2 MiB a day, and a p95 that gains two seconds a day towards a time-out of ten
    minutes.
    """
    cluster(at=NOW, labels={"team": "shop"})
    row = job(at=NOW, name="orders-enrich", start_time=day(60))
    rolled(
        row,
        [100 * MIB + 2 * MIB * one for one in range(60)],
        p95_ms=[300_000 + 2_000 * one for one in range(60)],
    )
    audited({row: (150 * MIB, 10 * MIB, MIB)}, ago=1)
    audited({row: (160 * MIB, 12 * MIB, 2 * MIB)})
    summed()
    return row


def test_a_job_that_grows_evenly_has_its_slope_its_uploads_and_the_day_of_its_time_out(growing):
    found = growth_of(growing)
    assert (found.state_bytes, found.state_bytes_per_day) == (218 * MIB, pytest.approx(2 * MIB))
    assert found.state_bytes_ahead == pytest.approx((218 + 60) * MIB)
    assert (
        found.uploaded_bytes,
        found.uploaded_bytes_per_day,
        found.uploaded_bytes_per_day_before,
    ) == (30 * MIB, MIB, MIB)
    assert found.unreferenced_bytes == 14 * MIB
    assert found.days_to_timeout == pytest.approx((600_000 - 418_000) / 2_000)


def test_a_window_of_which_half_is_not_known_tells_sizes_and_no_trend(growing):
    JobGrowth.objects.all().delete()
    other = job(at=NOW, name="recent", start_time=day(5))
    rolled(other, [MIB * one for one in range(1, 6)])
    summed()
    week, month = growth_of(other, 7), growth_of(other, 30)
    assert week.state_bytes_per_day == pytest.approx(MIB)
    assert (month.state_bytes, month.state_bytes_per_day, month.known_days) == (5 * MIB, None, 5)


def test_ids_that_follow_one_another_are_one_job(growing):
    first = job(
        at=day(20),
        name="billing",
        start_time=day(40),
        end_time=day(20),
        state="FAILED",
        terminal=True,
        last_seen_at=day(20),
    )
    second = job(at=NOW, name="billing", start_time=day(19))
    rolled(first, [MIB * one for one in range(1, 21)], ending=20)
    rolled(second, [MIB * one for one in range(21, 41)])
    summed()
    found = growth_of(second)
    assert found.attempts == [second.job_id, first.job_id]
    assert found.state_bytes_per_day == pytest.approx(MIB, rel=0.05)
    assert not JobGrowth.objects.filter(job_id=first.job_id).exists()


def test_an_ended_job_keeps_its_sums_and_grows_no_more():
    ended = job(
        at=NOW,
        state="FINISHED",
        terminal=True,
        start_time=day(30),
        end_time=day(3),
        last_seen_at=day(3),
    )
    rolled(ended, [MIB * one for one in range(1, 28)], ending=3)
    summed()
    found = growth_of(ended)
    assert (found.ended, found.state_bytes, found.state_bytes_per_day, found.days_to_timeout) == (
        True,
        27 * MIB,
        None,
        None,
    )


def test_what_nothing_refers_to_is_summed_over_roots_and_another_audit_of_one_root_forgets_none():
    row = job(at=NOW)
    audited({row: (10, 3, 1)}, ago=1, root="file:///a")
    audited({row: (20, 5, 0)}, ago=1, root="file:///b", hour=7)
    audited({row: (11, 4, 1)}, root="file:///a")
    summed()
    assert list(
        StoredDay.objects.order_by("day").values_list("stored_bytes", "unreferenced_bytes")
    ) == [(30, 9), (31, 10)]


def test_summing_up_again_changes_nothing(growing):
    def rows():
        return [list(model.objects.order_by("pk").values()) for model in (JobGrowth, StoredDay)]

    before = rows()
    summed()
    assert rows() == before


def test_the_due_work_sums_up_every_cluster(growing):
    JobGrowth.objects.all().delete()
    DueWork.objects.ensure({"growth/days": 900}, NOW)
    assert perform("growth/days").record.counts == {"jobs": 1, "clusters": 1}
    assert JobGrowth.objects.count() == 3


def test_page_and_api_have_the_same_figures(growing, viewer):
    cells = viewer.get("/growth/?days=30").content.decode()
    assert "orders-enrich" in cells and "+2.1 MB/day" in cells and "in 91 days (91 to 91)" in cells
    (row,) = viewer.get("/api/v1/growth/?days=30").json()["results"]
    assert row["days_to_timeout"] == pytest.approx(91)


@pytest.mark.parametrize("metric", ["state", "uploaded", "unreferenced"])
def test_each_chart_draws_what_the_table_says(growing, viewer, metric):
    drawn = viewer.get(f"/growth/chart?metric={metric}&days=30").json()["figure"]
    last = {"state": 218 * MIB, "uploaded": MIB, "unreferenced": 14 * MIB}[metric]
    assert sum(trace["y"][-1] for trace in drawn["data"]) == last


def test_the_query_count_does_not_grow_with_the_jobs(
    growing, viewer, django_assert_num_queries, django_assert_max_num_queries
):
    with django_assert_max_num_queries(18) as few:
        viewer.get("/growth/")
    for number in range(30):
        row = job(at=NOW, name=f"more {number}", start_time=day(8))
        rolled(row, [MIB] * 8)
    summed()
    cache.clear()
    with django_assert_num_queries(len(few)):
        viewer.get("/growth/")


def test_a_fleet_without_a_day_says_so(viewer):
    page = viewer.get("/growth/").content.decode()
    assert "No day has been aggregated yet" in page
    assert viewer.get("/growth/chart").json()["empty"]["title"] == "No day has been aggregated yet"


def test_a_wrong_window_is_refused(viewer):
    assert viewer.get("/api/v1/growth/?days=8").status_code == 400


@pytest.mark.parametrize("name", SORTS)
def test_a_page_is_read_from_an_index_in_every_order(growing, name):
    sort = SORTS[name]
    rows = (
        JobGrowth.objects.filter(window_days=30)
        .annotate(sort_key=sort.key)
        .order_by(*(key.order_by for key in sort.keys))[:51]
    )
    plan = rows.explain()
    if connection.vendor == "sqlite":
        assert f"growth_by_{name}" in plan and "TEMP B-TREE" not in plan
