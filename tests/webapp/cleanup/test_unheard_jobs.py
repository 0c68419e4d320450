"""Jobs that may run and of which Weir has not heard, or not heard enough: real audits, plans,
applies and purges take nothing that one of them may have been restored from.
"""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.utils import timezone

from tests.selections import mostly_long
from tests.webapp.builders import job
from tests.webapp.cleanup.test_fixed_job_ids import DRAWN
from tests.webapp.cleanup.test_repeated_job_ids import (
    NOW,
    OLD,
    REPEATED,
    Fleet,
    completed,
    restored,
    tell,
)
from tests.webapp.cleanup.test_two_plans import approve_plan, do
from tests.webapp.cleanup.test_unseen_needs import NOTHING_COMPLETED, forked
from tests.webapp.cleanup.test_whole import home
from tests.webapp.cleanup.worlds import name_of_job
from webapp.cleanup.choices import PlanState
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, JobCurrent, SourceReading
from webapp.storage.models import StorageRoot
from webapp.work.keys import CYCLE
from webapp.work.models import DueWork

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


def note_cycle(loaded_before: timedelta | None) -> None:
    """When a cycle last loaded all that was collected; None: never."""
    now = timezone.now()
    at = None if loaded_before is None else now - loaded_before
    DueWork.objects.ensure({CYCLE: 60}, now)
    since = now - timedelta(days=9)
    DueWork.objects.filter(key=CYCLE).update(last_success_at=at, created_at=since)


def write_silent_cluster(fleet: Fleet, **fields: object) -> None:
    """A cluster of which no job is known, and no root."""
    fleet.application("app-b", 8)
    JobCurrent.objects.filter(cluster="app-b").delete()
    StorageRoot.objects.filter(uri=f"file:{fleet.worlds['app-b'].root}").delete()
    Cluster.objects.filter(name="app-b").update(**fields)


@pytest.mark.parametrize(
    ("loaded_before", "is_known"),
    [(None, False), (timedelta(hours=9), False), (timedelta(seconds=5), True)],
    ids=["never", "hours ago", "now"],
)
def test_while_what_was_collected_is_not_loaded_nothing_goes(
    home: Path, loaded_before: timedelta | None, is_known: bool
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    note_cycle(loaded_before)
    fleet.audit_twice()
    assert bool(fleet.clean_up_all()) == is_known


def test_what_is_not_loaded_any_more_after_the_apply_stops_the_purge(home: Path) -> None:
    fleet = Fleet(home)
    origin = forked(fleet)
    note_cycle(timedelta(seconds=5))
    fleet.audit_twice()
    plan = do(approve_plan(), "apply")
    note_cycle(timedelta(hours=9))
    with pytest.raises(CommandError, match="is not loaded"):
        do(plan, "purge")
    assert any(path.name == "_metadata" for path in origin.quarantine.rglob("*"))


@pytest.mark.parametrize(
    "told_by",
    mostly_long([{"log_globs": ["/var/log/*.log"]}, {"prometheus_url": "http://127.0.0.1:9090"}]),
)
@pytest.mark.parametrize("is_heard", [True, False])
def test_a_cluster_without_an_address_that_told_of_no_job_lately_may_have_an_heir(
    home: Path, is_heard: bool, told_by: dict[str, object]
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    write_silent_cluster(fleet, url="", **told_by)
    if is_heard:
        counts = {"at": NOW.isoformat(), "total": 0, "restored": 0}
        told = {"job_id": name_of_job(9), "start_time": OLD, "flink_counts": counts}
        job("app-b", at=timezone.now(), **told, **NOTHING_COMPLETED)
    fleet.audit_twice()
    assert bool(fleet.clean_up_all()) == is_heard


@pytest.mark.parametrize("takes_none", [False, True])
def test_that_flink_answered_nothing_about_checkpoints_does_not_say_that_a_job_was_not_restored(
    home: Path, takes_none: bool
) -> None:
    """Of a job that takes none it says so: then all counts are 0."""
    fleet = Fleet(home)
    forked(fleet)
    fleet.application("app-b", 8)
    counts = {"at": timezone.now().isoformat(), "total": 0, "restored": 0} if takes_none else None
    told = {"checkpoint_config": None, "flink_counts": counts, "restored_at": None}
    tell("app-b", **told, **NOTHING_COMPLETED)
    fleet.audit_twice()
    assert bool(fleet.clean_up_all()) == takes_none


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_cluster_whose_source_is_declared_no_more_may_have_an_heir(
    home: Path, is_declared: bool
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    write_silent_cluster(fleet, found_by="k8s", left_at=NOW)
    if is_declared:
        SourceReading.objects.create(name="k8s", kind="kubernetes", place="k8s", due_at=NOW)
    fleet.audit_twice()
    assert bool(fleet.clean_up_all()) == is_declared


@pytest.mark.parametrize("state", mostly_long(["broken", "suspended"]))
def test_a_cluster_that_does_not_come_up_may_start_from_what_looks_superseded(
    home: Path, state: str
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    write_silent_cluster(fleet, operator_state=state)
    fleet.audit_twice()
    assert bool(fleet.clean_up_all()) == (state == "suspended")


def test_a_recording_tells_nothing_of_what_its_cluster_runs_now(home: Path) -> None:
    fleet = Fleet(home)
    origin = forked(fleet)
    Cluster.objects.update(kind=ClusterKind.RECORDING, enabled=False)
    fleet.audit_twice()
    files = origin.all_files()
    assert do(approve_plan(), "apply").state == PlanState.UNMOVED
    assert origin.all_files() == files


@pytest.mark.parametrize("number", [REPEATED, DRAWN], ids=["repeated", "drawn"])
def test_a_checkpoint_of_the_run_before_does_not_wean_a_job_whose_clock_is_behind(
    home: Path, number: int
) -> None:
    """Nobody knows of one that it completed since it was restored."""
    fleet = Fleet(home)
    origin, heir = fleet.application("app-x", 5), fleet.application("app-a", number)
    origin.checkpoint(5, 50, [origin.file(origin.job(5) / "shared", at=OLD)], at=OLD)
    tell("app-x", state="CANCELED", terminal=True, **completed(origin, 50, OLD, 5))
    before, by_its_clock = OLD + timedelta(hours=1), OLD + timedelta(minutes=30)
    heir.checkpoint(number, 90, [heir.file(heir.job(number) / "shared", at=before)], at=before)
    counts = {"at": NOW.isoformat(), "total": 0, "restored": 1}
    told = {"start_time": by_its_clock, "flink_counts": counts}
    tell("app-a", **restored(origin, 50, by_its_clock, 5), **told, **NOTHING_COMPLETED)
    fleet.audit_twice()
    assert not fleet.clean_up_all()
