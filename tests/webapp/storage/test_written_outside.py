"""Where live clusters write outside of the roots, however long ago and whatever was written since."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webapp.builders import cluster, fact, job
from webapp.storage import suggestions

SAVEPOINT = "s3://elsewhere/savepoint-000000-0123456789ab"


@pytest.mark.django_db
def test_an_old_savepoint_is_not_crowded_out_by_newer_checkpoints(monkeypatch) -> None:
    monkeypatch.setattr(suggestions, "MOST_PATHS_OF_AN_AUDIT", 1)
    now = timezone.now()
    cluster("prod-eu", at=now)
    own = job("prod-eu", at=now)
    long_ago = now - timedelta(days=400)
    fact(own, 1, long_ago, is_savepoint=True, external_path=SAVEPOINT)
    for number in (2, 3):
        fact(own, number, now, external_path=f"s3://bucket/{own.job_id}/chk-{number}")
    assert suggestions.uncovered(["s3://bucket"]) == ["s3://elsewhere"]


@pytest.mark.django_db
def test_a_directory_that_flink_spreads_is_covered_by_the_one_above_alone() -> None:
    now = timezone.now()
    cluster("prod-eu", at=now)
    spread = {"state.checkpoints.dir": "s3a://bucket/team/_entropy_/ckpt"}
    job("prod-eu", at=now, configuration=spread, last_completed_path=None)
    assert suggestions.uncovered(["s3://bucket/team/ckpt"]) == ["s3://bucket/team"]
    assert suggestions.uncovered(["s3://bucket/team"]) == []
