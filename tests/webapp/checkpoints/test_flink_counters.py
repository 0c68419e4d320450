"""Flink's own counters beside what Weir knows: why they differ, and jobs of which nobody knows them."""

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, job
from webapp.checkpoints.flink_counters import Counts, counters_of, why


@pytest.mark.parametrize(
    ("flink", "weir", "told"),
    [
        (Counts(completed=5, failed=2), Counts(completed=5, failed=2, dropped=0, refused=0), ""),
        # Before 1.14 refusals are no failures of Flink's either.
        (Counts(completed=5, failed=2), Counts(completed=5, failed=2, dropped=0, refused=4), ""),
        (
            Counts(completed=5, failed=9),
            Counts(completed=5, failed=2, dropped=1, refused=4),
            "Flink also counts 1 aborted or superseded and 4 refused before the start as failed; 2 more failed ones are known to "
            "Flink only, such as refusals that no log has.",
        ),
        (
            Counts(completed=50, failed=0),
            Counts(completed=48, failed=0, dropped=0, refused=0),
            "2 more completed ones are known to Flink only, from before Weir saw the job.",
        ),
        (
            Counts(completed=2, failed=0),
            Counts(completed=48, failed=1, dropped=0, refused=3),
            "46 completed and 1 failed ones are no longer in its counters, which start from 0 with each JobManager.",
        ),
        (Counts(completed=None, failed=2), Counts(completed=48, failed=1), ""),
    ],
)
def test_why_they_differ_is_one_sentence(flink: Counts, weir: Counts, told: str) -> None:
    assert why(flink, weir) == told


@pytest.mark.parametrize("counts", [None, {}, {"at": None, "total": 3}, []])
def test_counters_that_are_not_known_are_no_zero(viewer, counts) -> None:
    """A job of an instance that was upgraded has none until its next cycle."""
    now = timezone.now()
    cluster(at=now)
    of = job(at=now, flink_counts=counts)
    assert counters_of(of) is None
    page = viewer.get(reverse("job", args=(of.cluster, of.job_id))).content.decode()
    assert "Flink's counters are unknown" in page
    assert viewer.get(reverse("api-job", args=(of.cluster, of.job_id))).json()["checkpoint_counters"] is None


def test_of_a_job_without_roll_ups_only_flinks_are_known(viewer) -> None:
    now = timezone.now()
    cluster(at=now)
    counted = {"at": now.timestamp() * 1000, "total": 7, "completed": 6, "failed": 1, "in_progress": 0, "restored": None}
    of = job(at=now, flink_counts=counted)
    counters = counters_of(of)
    assert counters is not None and counters.weir is None and not counters.why
    assert "no checkpoint known yet" in viewer.get(reverse("job", args=(of.cluster, of.job_id))).content.decode()
