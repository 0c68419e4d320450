"""Growth of jobs, clusters and teams, and when quotas are reached: summed up from days, then told
by the page, the API and commands.
"""

import json
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from tests.webapp.builders import cluster, job
from tests.webapp.growth.days import MIB, NOW, audited, day, rolled
from webapp.fleet.models import Cluster
from webapp.growth.groups import groups_by
from webapp.growth.models import ClusterDay, JobGrowth, StorageQuota, StoredDay
from webapp.growth.quotas import set_quota, size_of, uses
from webapp.growth.sorting import SORTS
from webapp.growth.summing import sum_cluster
from webapp.lib.quantities import bytes_text
from webapp.lib.refusals import InputRefused
from webapp.storage.models import StorageRoot
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
        return [
            list(model.objects.order_by("pk").values())
            for model in (JobGrowth, ClusterDay, StoredDay)
        ]

    before = rows()
    summed()
    assert rows() == before


def test_the_due_work_sums_up_every_cluster(growing):
    JobGrowth.objects.all().delete()
    DueWork.objects.ensure({"growth/days": 900}, NOW)
    assert perform("growth/days").record.counts == {"jobs": 1, "clusters": 1}
    assert JobGrowth.objects.count() == 3


def test_clusters_and_teams_are_sums_of_their_jobs(growing):
    cluster("prod-us", at=NOW, labels={"team": "shop"})
    other = job("prod-us", at=NOW, start_time=day(60))
    rolled(other, [50 * MIB] * 60)
    summed("prod-us")
    by_cluster = {group.name: group for group in groups_by("cluster", 30, NOW)}
    assert [by_cluster[name].figures.state_bytes for name in ("prod-eu", "prod-us")] == [
        218 * MIB,
        50 * MIB,
    ]
    (team,) = groups_by("team", 30, NOW)
    assert (team.name, team.clusters, team.jobs) == ("shop", 2, 2)
    assert (team.figures.state_bytes, team.figures.state_bytes_per_day) == (
        268 * MIB,
        pytest.approx(2 * MIB),
    )


def test_a_quota_of_a_root_says_when_it_is_reached(growing):
    StorageRoot.objects.create(uri="file:///data/flink")
    set_quota("root", "file:///data/flink", "1 GiB", "olga", NOW)
    (unknown,) = uses(7, NOW)
    assert (unknown.used_bytes, unknown.slope, unknown.until.days) == (160 * MIB, None, None)
    for ago in (2, 3, 4, 5):
        audited({growing: ((160 - 10 * ago) * MIB, 0, 0)}, ago=ago)
    (known,) = uses(7, NOW)
    assert known.slope.per_day == pytest.approx(10 * MIB)
    assert known.until.days == pytest.approx((1024 - 160) / 10)


def test_a_quota_that_is_taken_up_is_reached_whatever_the_trend(growing):
    set_quota("cluster", "prod-eu", "100 MiB", "olga", NOW)
    (use,) = uses(7, NOW)
    assert (use.is_reached, use.until.days, use.share) == (True, 0, pytest.approx(1.6))


@pytest.mark.parametrize("text", ["", "20", "20 XB", "-1 TB", "0 B", "9999 PB", "1e3 GB", "NaN GB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InputRefused, match="is not a size"):
        size_of(text)


def test_sizes_are_decimal_or_binary_as_written():
    assert (size_of("20 TB"), size_of("1.5GiB"), size_of(" 512 mib ")) == (
        20 * 10**12,
        3 << 29,
        512 << 20,
    )


def test_page_api_and_command_tell_the_same(growing, viewer):
    cells = viewer.get("/growth/?days=30").content.decode()
    assert "orders-enrich" in cells and "+2.1 MB/day" in cells and "in 91 days (91 to 91)" in cells
    (row,) = viewer.get("/api/v1/growth/?days=30").json()["results"]
    out = StringIO()
    call_command("growth", days=30, json=True, stdout=out)
    assert json.loads(out.getvalue()) == row
    assert row["days_to_timeout"] == pytest.approx(91)
    exported = json.loads(b"".join(viewer.get("/growth.json?days=30").streaming_content))
    assert exported[0]["state_bytes_per_day"] == row["state_bytes_per_day"]
    groups = viewer.get("/api/v1/growth/groups/?by=team").json()
    out = StringIO()
    call_command("growth", by="team", json=True, stdout=out)
    assert json.loads(out.getvalue()) == groups
    assert groups["groups"][0]["name"] == "shop"
    assert "shop" in viewer.get("/growth/?by=team").content.decode()


def test_on_hdfs_each_total_has_its_raw_bytes_beside_it(growing, viewer):
    root = StorageRoot.objects.create(uri="hdfs://ns/flink", replication=3)
    root.clusters.set(Cluster.objects.all())
    set_quota("cluster", "prod-eu", "1 GiB", "olga", NOW)
    for grouping in ("job", "cluster", "team"):
        page = viewer.get(f"/growth/?days=30&by={grouping}").content.decode()
        assert f"{bytes_text(3 * 218 * MIB)} raw" in page, grouping
        assert f"{bytes_text(3 * 160 * MIB)} raw" in page, "of the quota"
    (row,) = viewer.get("/api/v1/growth/?days=30").json()["results"]
    (group,) = viewer.get("/api/v1/growth/groups/?by=team").json()["groups"]
    assert (row["replication_factor"], group["replication_factor"]) == (3, 3)
    out = StringIO()
    call_command("growth", quotas=True, stdout=out)
    assert f"({bytes_text(3 * 160 * MIB)} raw)" in out.getvalue()
    root.replication = None
    root.save()
    assert " raw</small>" not in viewer.get("/growth/?days=30").content.decode()


@pytest.mark.parametrize(
    ("by", "metric"),
    [
        ("job", "state"),
        ("job", "uploaded"),
        ("job", "unreferenced"),
        ("cluster", "state"),
        ("team", "uploaded"),
    ],
)
def test_each_chart_draws_what_the_table_says(growing, viewer, by, metric):
    drawn = viewer.get(f"/growth/chart?by={by}&metric={metric}&days=30").json()["figure"]
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
    assert "No day has been aggregated yet" in page and "No quota is set" in page
    assert viewer.get("/growth/chart").json()["empty"]["title"] == "No day has been aggregated yet"


def test_wrong_parameters_are_refused_and_unknown_groupings_named(viewer):
    assert viewer.get("/api/v1/growth/?days=8").status_code == 400
    assert viewer.get("/api/v1/growth/groups/?by=colour").status_code == 400
    with pytest.raises(CommandError, match="grouped by job, cluster"):
        call_command("growth", by="colour")


def test_an_operator_sets_and_removes_a_quota_and_a_viewer_does_not(growing, operator, viewer):
    body = {"subject": "cluster:prod-eu", "size": "1 TB"}
    assert viewer.post("/growth/quotas/set", body).status_code == 403
    page = operator.post("/growth/quotas/set", body, follow=True).content.decode()
    assert "The quota of cluster prod-eu is set." in page
    assert (
        "is not a size"
        in operator.post(
            "/growth/quotas/set", body | {"size": "much"}, follow=True
        ).content.decode()
    )
    row = StorageQuota.objects.get()
    assert (row.quota_bytes, row.set_by) == (10**12, "olga")
    operator.post(f"/growth/quotas/{row.pk}/remove")
    assert not StorageQuota.objects.exists()


def test_a_quota_of_what_is_not_registered_is_refused():
    with pytest.raises(CommandError, match="There is no cluster called nowhere"):
        call_command("storage_quota", "cluster", "nowhere", "1 TB")


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
