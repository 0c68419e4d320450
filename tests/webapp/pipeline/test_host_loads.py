"""Sums of what runs on each host follow the rows they are of, whoever changes these: recounted one
by one.
"""

from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from tests.webapp.builders import job
from tests.webapp.hosts.builders import runs_on
from tests.webapp.pipeline.runs import AT, row
from webapp.fleet.models import Cluster
from webapp.hosts import loads
from webapp.hosts.models import HostLoad, JobHost
from webapp.pipeline import retention
from webapp.work.lease import Lease

Load = Callable[..., dict[str, int]]
LATER, EARLIER = AT + timedelta(minutes=5), AT - timedelta(minutes=5)


def placed(host: str, job_id: str = "a" * 32, cluster: str = "c", **values: Any) -> dict[str, Any]:
    return row(
        "job_host",
        host=host,
        job_id=job_id,
        cluster=cluster,
        **{"subtasks": 2, "slots": 1, "as_of": AT, **values},
    )


def stored() -> dict[tuple[str, str], tuple[int, int, int]]:
    return {
        (one.cluster, one.host): (one.jobs, one.subtasks, one.slots)
        for one in HostLoad.objects.all()
    }


def recounted() -> dict[tuple[str, str], tuple[int, int, int]]:
    found: dict[tuple[str, str], tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    for one in JobHost.objects.all():
        if one.left_at is None:
            jobs, subtasks, slots = found[one.cluster, one.host]
            found[one.cluster, one.host] = (jobs + 1, subtasks + one.subtasks, slots + one.slots)
    return dict(found)


def test_loaded_rows_are_summed_by_host_and_cluster_and_the_same_again_change_nothing(
    load: Load,
) -> None:
    rows = [
        placed("h"),
        placed("h", "b" * 32, subtasks=5),
        placed("h", cluster="d"),
        placed("gone", left_at=AT),
        placed("long" * 100),
    ]
    load({"job_host": rows})
    assert stored() == recounted()
    assert stored()["c", "h"] == (2, 7, 2)
    before = list(HostLoad.objects.order_by("pk").values_list())
    load({"job_host": rows})
    assert list(HostLoad.objects.order_by("pk").values_list()) == before


def test_a_job_that_leaves_takes_its_share_with_it_and_late_rows_do_not_bring_it_back(
    load: Load,
) -> None:
    load({"job_host": [placed("h"), placed("h", "b" * 32), placed("alone")]})
    load(
        {
            "job_host": [
                placed("h", left_at=LATER, as_of=LATER),
                placed("alone", left_at=LATER, as_of=LATER),
            ]
        }
    )
    assert stored() == {("c", "h"): (1, 2, 1)}
    load({"job_host": [placed("h", subtasks=9, as_of=EARLIER), placed("alone", as_of=EARLIER)]})
    assert stored() == {("c", "h"): (1, 2, 1)} == recounted()


def test_jobs_that_are_not_kept_take_their_share_with_them(lease: Lease) -> None:
    long_ago = AT - timedelta(days=900)
    Cluster.objects.create(name="prod-eu")
    kept, gone = job(at=AT), job(at=long_ago)
    runs_on("h", kept, AT)
    runs_on("h", gone, long_ago)
    runs_on("alone", gone, long_ago)
    gone.delete()
    retention.purge(AT, lease)
    assert stored() == {("prod-eu", "h"): (1, 4, 1)} == recounted()


class Changes(TestCase):
    @settings(max_examples=25, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from("ab"),
                st.sampled_from("cd"),
                st.sampled_from("hi"),
                st.integers(1, 9),
                st.booleans(),
            )
        )
    )
    def test_sums_follow_any_changes(self, changes: list[tuple[str, str, str, int, bool]]) -> None:
        for job_id, cluster, host, subtasks, left in changes:
            values = {
                "subtasks": subtasks,
                "slots": 1,
                "vertices": 1,
                "first_seen_at": AT,
                "as_of": AT,
                "left_at": AT if left else None,
            }
            JobHost.objects.update_or_create(
                cluster=cluster, job_id=job_id, host=host, defaults=values
            )
            loads.sum_again([(cluster, host)])
        assert stored() == recounted()
