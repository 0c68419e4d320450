"""What a job is shown as: never healthy where nobody can know."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from webapp.fleet.badges import job_badge
from webapp.fleet.models import Cluster, JobCurrent
from webapp.fleet.registration import Shards

pytestmark = pytest.mark.django_db
NOW = datetime(2025, 3, 1, 12, tzinfo=UTC)
JUST_NOW = NOW - timedelta(seconds=20)


def shown(
    state: str = "RUNNING",
    terminal: bool = False,
    last_seen_at: datetime = JUST_NOW,
    **cluster: Any,
) -> str:
    given = {"kind": "live", "last_collected_at": JUST_NOW, "last_success_at": JUST_NOW, **cluster}
    Cluster.objects.create(name="c", **given)
    JobCurrent.objects.create(
        cluster="c",
        job_id="j",
        state=state,
        terminal=terminal,
        last_seen_at=last_seen_at,
        as_of=NOW,
    )
    return str(JobCurrent.objects.with_status(NOW).get().status)


def test_a_job_of_a_cluster_that_answers_is_shown_as_reported() -> None:
    assert shown() == "RUNNING"


def test_a_job_of_an_unreachable_cluster_is_unknown() -> None:
    assert shown(unreachable_since=NOW - timedelta(minutes=1)) == "UNKNOWN"


def test_a_job_of_a_cluster_that_was_silent_for_three_cycles_is_unknown_even_before_it_is_called_unreachable() -> (
    None
):
    assert shown(last_success_at=NOW - timedelta(seconds=91)) == "UNKNOWN"


def test_a_job_of_a_cluster_that_never_answered_is_unknown() -> None:
    assert shown(last_success_at=None) == "UNKNOWN"


def test_a_job_of_a_paused_cluster_is_unknown() -> None:
    assert shown(enabled=False) == "UNKNOWN"


def test_a_job_that_ended_stays_ended_whatever_its_cluster_does() -> None:
    assert shown(state="FINISHED", terminal=True, unreachable_since=NOW) == "FINISHED"


def test_a_job_that_is_listed_no_more_is_shown_so_whatever_its_cluster_does_and_however_long() -> (
    None
):
    day_ago = NOW - timedelta(days=1)
    assert shown("NOT_LISTED", last_seen_at=day_ago, unreachable_since=NOW) == "NOT_LISTED"
    badge = job_badge("NOT_LISTED")
    assert (badge.word, badge.tone) == ("not listed", "warn")
    assert JobCurrent.objects.get().is_over


def test_a_recording_is_judged_at_its_own_time() -> None:
    long_ago = NOW - timedelta(days=400)
    assert shown(kind="recording", last_seen_at=long_ago, last_success_at=None) == "RUNNING"


def test_a_job_that_its_cluster_no_longer_tells_of_is_unknown() -> None:
    assert shown(last_seen_at=NOW - timedelta(hours=2)) == "UNKNOWN"


def test_a_job_without_a_state_is_unknown() -> None:
    Cluster.objects.create(name="c", last_success_at=JUST_NOW, last_collected_at=JUST_NOW)
    JobCurrent.objects.create(cluster="c", job_id="j", last_seen_at=JUST_NOW, as_of=NOW)
    assert JobCurrent.objects.with_status(NOW).get().status == "UNKNOWN"


@pytest.mark.parametrize(
    ("cluster", "visibility"),
    [
        ({"kind": "recording"}, "recording"),
        ({}, "new"),
        ({"last_collected_at": NOW, "last_success_at": NOW}, "live"),
        ({"last_collected_at": NOW}, "unreachable"),
        (
            {"last_collected_at": NOW, "last_success_at": NOW, "unreachable_since": NOW},
            "unreachable",
        ),
        ({"last_collected_at": NOW, "last_success_at": NOW, "enabled": False}, "paused"),
    ],
)
def test_a_cluster_knows_whether_it_is_seen(cluster: dict[str, Any], visibility: str) -> None:
    assert Cluster(name="c", **cluster).visibility_at(NOW) == visibility


def test_a_shard_takes_two_hundred_clusters() -> None:
    Cluster.objects.bulk_create([Cluster(name=f"c{n}", url="http://h:1") for n in range(200)])
    assert Shards().take() == 1
    Cluster.objects.filter(name="c7").delete()
    assert Shards().take() == 0


def test_a_removed_cluster_is_not_brought_back_by_rows_under_way() -> None:
    Cluster.objects.create(name="gone")
    Cluster.objects.get(name="gone").delete()
    assert Cluster.objects.register_recordings({"gone", "new"}) == 1
    assert list(Cluster.objects.values_list("name", flat=True)) == ["new"]
    Cluster(name="gone").save()
    assert Cluster.objects.filter(name="gone").exists()
