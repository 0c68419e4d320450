"""Which ``_metadata`` are named as evidence, cycle by cycle."""

from datetime import UTC, datetime, timedelta

from ingest.metadata.snapshot_selection import SnapshotSelection
from ingest.records import Checkpoint, Job, Observed

START = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def checkpoint(
    number: int,
    *,
    at_s: float,
    savepoint: bool = False,
    status: str = "COMPLETED",
    job: str = "a" * 32,
) -> Checkpoint:
    path = f"file:/sp/savepoint-{number}" if savepoint else f"file:/ckpt/{job}/chk-{number}"
    return Checkpoint(
        job,
        number,
        after(at_s),
        status,
        is_savepoint=savepoint,
        external_path=path if status == "COMPLETED" else None,
    )


def restored(path: str, *, at_s: float, job: str = "a" * 32) -> Job:
    return Job(job, "name", "RUNNING", restored_at=after(at_s), restored_path=path)


def names(selection: SnapshotSelection, *records: Job | Checkpoint, at_s: float = 60) -> list[str]:
    """The last part of each path that one cycle wants."""
    observed = [Observed("c", after(at_s), "rest", (record,)) for record in records]
    return [path.rsplit("/", 1)[-1] for path in selection.select(observed)]


def test_the_restored_snapshot_and_the_first_checkpoint_after_it_are_wanted() -> None:
    found = names(
        SnapshotSelection(),
        restored("file:/ckpt/old/chk-6", at_s=1),
        checkpoint(8, at_s=20),
        checkpoint(7, at_s=10),
    )
    assert found == ["chk-6", "chk-7"]


def test_a_savepoint_wants_the_checkpoint_before_it_while_it_is_still_in_progress() -> None:
    selection = SnapshotSelection()
    names(selection, checkpoint(6, at_s=1))
    assert names(selection, checkpoint(7, at_s=5, savepoint=True, status="IN_PROGRESS")) == [
        "chk-6"
    ]


def test_the_first_checkpoint_after_a_savepoint_is_wanted_and_the_next_is_not() -> None:
    selection = SnapshotSelection()
    names(selection, checkpoint(6, at_s=1), checkpoint(7, at_s=5, savepoint=True))
    assert names(selection, checkpoint(9, at_s=15), checkpoint(8, at_s=10)) == ["chk-8"]


def test_a_checkpoint_under_way_when_the_savepoint_began_is_the_one_before_it() -> None:
    selection = SnapshotSelection()
    names(selection, checkpoint(5, at_s=1), checkpoint(7, at_s=5, savepoint=True))
    assert names(selection, checkpoint(6, at_s=4), checkpoint(8, at_s=10)) == ["chk-6", "chk-8"]


def test_what_was_wanted_once_is_not_wanted_again() -> None:
    selection = SnapshotSelection()
    seen = (
        restored("file:/ckpt/old/chk-6", at_s=1),
        checkpoint(7, at_s=10),
        checkpoint(8, at_s=12, savepoint=True),
    )
    names(selection, *seen)
    assert names(selection, *seen) == []


def test_it_goes_on_from_what_it_remembered() -> None:
    selection = SnapshotSelection()
    names(selection, checkpoint(6, at_s=1), checkpoint(7, at_s=5, savepoint=True))
    assert names(SnapshotSelection(selection.remembered(after(60))), checkpoint(8, at_s=10)) == [
        "chk-8"
    ]


def test_a_job_that_recovers_from_its_own_checkpoint_wants_nothing() -> None:
    assert (
        names(
            SnapshotSelection(),
            restored(f"file:/ckpt/{'a' * 32}/chk-6", at_s=1),
            checkpoint(7, at_s=10),
        )
        == []
    )


def test_a_restore_of_yesterday_is_not_followed_up() -> None:
    assert (
        names(
            SnapshotSelection(),
            restored("file:/ckpt/old/chk-6", at_s=1),
            checkpoint(7000, at_s=86_000),
            at_s=86_400,
        )
        == []
    )


def test_a_failed_savepoint_wants_nothing() -> None:
    assert (
        names(
            SnapshotSelection(),
            checkpoint(6, at_s=1),
            checkpoint(7, at_s=5, savepoint=True, status="FAILED"),
            checkpoint(8, at_s=9),
        )
        == []
    )


def test_jobs_that_are_gone_are_forgotten() -> None:
    selection = SnapshotSelection()
    names(selection, checkpoint(6, at_s=1))
    assert selection.remembered(after(2 * 86_400)) == {}
