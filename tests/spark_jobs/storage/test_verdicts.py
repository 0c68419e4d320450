"""One case for each rule of the audit: what makes a file an orphan, and each single thing that
keeps it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.spark_jobs.storage.judged_worlds import Said, judged_worlds
from tests.spark_jobs.storage.worlds import GUARD, NOW, Job, Planted, Snapshot, World, ago

UUID = "3c4e70a2-8083-4a9f-917b-13103a7134c4"
OTHER = "681ade32-3816-40c6-99b8-99ea6913bc85"
THIRD = "755c091b-6d08-46a3-9d82-280f82874431"
JOB, HEIR = "a" * 32, "b" * 32


@dataclass
class Scene:
    """A job that has ended, its checkpoint 7 with one shared file, and one old file that nothing
    refers to.
    """

    world: World
    job: Job = field(init=False)
    snapshot: Snapshot = field(init=False)
    file: Planted = field(init=False)

    def __post_init__(self) -> None:
        self.job = self.add_job(JOB)
        self.snapshot = self.add_snapshot(
            self.job, 7, (self.plant(f"{JOB}/shared/{OTHER}").path,), 200
        )
        self.job.last_completed = ago(200)
        self.file = self.plant(f"{JOB}/shared/{UUID}")

    def add_job(self, job_id: str, *, terminal: bool = True, cluster: str = "c1") -> Job:
        self.world.jobs.append(
            Job(cluster, job_id, terminal=terminal, seen=True, known=True, root=self.world.root)
        )
        return self.world.jobs[-1]

    def plant(self, path: str, hours: float = 200) -> Planted:
        """Seen by an audit four days ago, which found nothing that refers to it."""
        planted = Planted(
            f"{self.world.root}/{path}",
            10,
            ago(hours),
            first_seen=ago(96),
            unreferenced_since=ago(96),
        )
        self.world.files[planted.path] = planted
        return planted

    def add_snapshot(
        self, job: Job, number: int, needs: tuple[str, ...], hours: float, failure: str = ""
    ) -> Snapshot:
        path = f"{self.world.root}/{job.job_id}/chk-{number}/_metadata"
        snapshot = Snapshot(
            path, job, number, needs, {one: one for one in needs}, ago(hours), failure=failure
        )
        self.world.files[path] = Planted(path, 10, ago(hours), first_seen=ago(96))
        self.world.snapshots.append(snapshot)
        job.snapshots.append(snapshot)
        return snapshot

    def restore(self, *, whole: bool = True, own: bool = True, terminal: bool = False) -> Job:
        """A job restored from checkpoint 7, which has since completed one of its own."""
        heir = self.add_job(HEIR, terminal=terminal)
        heir.restored, heir.restored_at, heir.last_completed = self.snapshot, ago(190), ago(1)
        mine = (
            self.plant(f"{HEIR}/shared/{THIRD}")
            if whole
            else Planted(f"{self.world.root}/{HEIR}/shared/{THIRD}", 1, None)
        )
        self.add_snapshot(heir, 8, (mine.path,) if own else (mine.path, *self.snapshot.needs), 180)
        return heir


Change = Callable[[Scene], None]
CASES: dict[str, tuple[Change, str, str, str]] = {}
"""What a test is about → what it changes in the scene, and what is said of which file."""


def case(said: str, reason: str, of: str = UUID) -> Callable[[Change], Change]:
    def register(change: Change) -> Change:
        CASES[change.__name__] = (change, said, reason, of)
        return change

    return register


@case("orphan", "unreferenced")
def an_old_file_that_two_audits_found_unreferenced_is_an_orphan(scene: Scene) -> None:
    pass


@case("live", "referred")
def a_file_that_a_checkpoint_refers_to_is_live(scene: Scene) -> None:
    scene.add_snapshot(scene.job, 8, (scene.file.path,), 190)


@case("live", "referred")
def a_file_that_a_checkpoint_of_another_job_refers_to_is_live(scene: Scene) -> None:
    scene.add_snapshot(scene.add_job(HEIR), 8, (scene.file.path,), 190)


@case("live", "referred")
def a_reference_in_another_spelling_is_a_reference(scene: Scene) -> None:
    snapshot = scene.add_snapshot(scene.job, 8, (scene.file.path,), 190)
    snapshot.written = {
        scene.file.path: scene.file.path.replace("s3://", "s3a://").replace(
            "/shared/", "//shared/./x/../"
        )
    }


@case("recent", "age_guard")
def a_file_written_within_the_age_guard_is_young(scene: Scene) -> None:
    scene.file.modified = NOW - GUARD + timedelta(seconds=1)


@case("recent", "age_guard")
def a_file_first_seen_within_the_age_guard_is_recent_whatever_its_time_says(scene: Scene) -> None:
    scene.file.first_seen = NOW - GUARD + timedelta(seconds=1)


@case("recent", "age_guard")
def a_file_seen_under_two_names_was_first_seen_when_the_later_was(scene: Scene) -> None:
    scene.world.seen_again[scene.file.path] = NOW - GUARD + timedelta(seconds=1)


@case("orphan", "unreferenced")
def a_file_exactly_as_old_as_the_age_guard_is_old_enough(scene: Scene) -> None:
    scene.file.modified = NOW - GUARD


@case("recent", "first_audit")
def the_first_audit_that_finds_a_file_unreferenced_proves_nothing(scene: Scene) -> None:
    scene.file.unreferenced_since = None


@case("kept", "bad_time")
def a_file_without_a_time_is_kept(scene: Scene) -> None:
    scene.file.modified = None


@case("kept", "bad_time")
def a_file_from_the_future_is_kept(scene: Scene) -> None:
    scene.file.modified = NOW + timedelta(days=1)


@case("recent", "no_checkpoint_since")
def a_job_that_runs_must_have_completed_a_checkpoint_between_the_audits(scene: Scene) -> None:
    scene.job.terminal, scene.job.last_completed = False, ago(100)


@case("orphan", "unreferenced")
def a_job_that_runs_and_completed_a_checkpoint_between_may_have_orphans(scene: Scene) -> None:
    scene.job.terminal, scene.job.last_completed = False, ago(1)


@case("recent", "in_flight")
def a_file_not_older_than_the_checkpoint_in_flight_is_young(scene: Scene) -> None:
    scene.job.terminal, scene.job.last_completed, scene.job.in_flight_since = (
        False,
        ago(1),
        ago(201),
    )


@case("kept", "job_unseen")
def a_file_of_a_job_that_nobody_reported_is_kept(scene: Scene) -> None:
    scene.job.known = False


@case("kept", "job_unseen")
def a_file_of_a_job_of_an_unreachable_cluster_is_kept_although_it_was_seen_to_end(
    scene: Scene,
) -> None:
    scene.job.seen = False


@case("kept", "two_owners")
def a_file_of_a_job_id_that_two_clusters_have_is_kept(scene: Scene) -> None:
    scene.add_job(JOB, cluster="c2")


@case("kept", "was_referred")
def a_file_whose_referrer_vanished_is_kept(scene: Scene) -> None:
    scene.world.earlier.append(
        (f"{scene.world.root}/{JOB}/chk-5/_metadata", scene.file.path, False)
    )


@case("orphan", "unreferenced")
def a_file_whose_referrer_was_seen_discarded_may_be_an_orphan(scene: Scene) -> None:
    scene.world.earlier.append((f"{scene.world.root}/{JOB}/chk-5/_metadata", scene.file.path, True))
    scene.job.ended.append((5, True, True))


@case("kept", "was_referred")
def a_discard_proves_nothing_of_a_referrer_of_which_nobody_knows_when_it_was_written(
    scene: Scene,
) -> None:
    gone = f"{scene.world.root}/{JOB}/chk-5/_metadata"
    scene.world.earlier.append((gone, scene.file.path, True))
    scene.world.never_listed.add(gone)
    scene.job.ended.append((5, True, True))


@case("kept", "was_unlisted")
def a_file_that_an_audit_lacked_although_it_is_older_is_kept(scene: Scene) -> None:
    scene.file.first_seen = scene.file.unreferenced_since = None
    scene.world.listed_at = ago(96)


@case("kept", "referrer_lost")
def a_file_that_an_audit_lacked_is_kept_for_good_where_a_referrer_vanished_meanwhile(
    scene: Scene,
) -> None:
    scene.file.first_seen = scene.file.unreferenced_since = None
    scene.world.listed_at = ago(96)
    scene.world.lost.add(scene.job.directory)


@case("orphan", "unreferenced")
def a_referrer_that_vanished_while_other_files_were_not_listed_is_none_of_a_file_that_was(
    scene: Scene,
) -> None:
    scene.world.lost.add(scene.job.directory)


@case("recent", "age_guard")
def a_file_that_may_have_been_uploaded_while_an_audit_listed_is_first_seen_now(
    scene: Scene,
) -> None:
    scene.file.first_seen = scene.file.unreferenced_since = None
    scene.world.listed_at = scene.file.modified + timedelta(hours=23)


@case("kept", "referrer_unread")
def a_file_is_kept_to_which_a_checkpoint_refers_below_what_is_no_root_any_more(
    scene: Scene,
) -> None:
    path = f"{scene.world.root}-before/{HEIR}/chk-5/_metadata"
    scene.world.earlier.append((path, scene.file.path, False))


@case("kept", "earlier_run")
def a_file_from_before_the_run_that_is_known_is_kept(scene: Scene) -> None:
    scene.job.started = ago(199)


@case("orphan", "unreferenced")
def a_file_from_before_a_jobmanager_took_over_is_one_of_this_run(scene: Scene) -> None:
    before = scene.add_snapshot(scene.job, 6, (), 201)
    scene.job.started, scene.job.restored, scene.job.restored_at = ago(199), before, ago(199)


@case("orphan", "unreferenced")
def a_file_of_an_upload_that_went_on_for_a_moment_is_one_of_this_run(scene: Scene) -> None:
    scene.job.ended_at = ago(200) - timedelta(seconds=90)


@case("kept", "later_run")
def a_file_that_was_written_after_its_job_had_ended_is_kept(scene: Scene) -> None:
    scene.job.ended_at = ago(201)


@case("kept", "earlier_run")
def a_run_that_was_restored_from_its_own_checkpoint_later_may_have_begun_afresh(
    scene: Scene,
) -> None:
    before = scene.add_snapshot(scene.job, 6, (), 201)
    scene.job.started, scene.job.restored, scene.job.restored_at = ago(199), before, ago(198)


@case("kept", "last_unfound")
def a_dead_job_whose_last_checkpoint_was_not_found_keeps_its_files(scene: Scene) -> None:
    scene.snapshot.listed = False
    del scene.world.files[scene.snapshot.path]


@case("orphan", "unreferenced")
def a_dead_job_whose_last_checkpoint_was_seen_discarded_may_have_orphans(scene: Scene) -> None:
    scene.snapshot.listed = False
    del scene.world.files[scene.snapshot.path]
    scene.job.ended.append((7, True, True))


# A doubt keeps what it may refer to, and nothing else.


@case("orphan", "unreferenced")
def a_damaged_metadata_of_a_job_that_stems_from_no_other_keeps_its_own_files_alone(
    scene: Scene,
) -> None:
    scene.add_snapshot(scene.add_job(HEIR), 9, (), 190, failure="damaged_metadata")


@case("kept", "in_doubt")
def a_damaged_metadata_keeps_the_files_of_its_own_job(scene: Scene) -> None:
    scene.add_snapshot(scene.job, 9, (), 190, failure="damaged_metadata")


@case("kept", "in_doubt")
def a_damaged_metadata_keeps_the_files_of_those_that_its_job_stems_from(scene: Scene) -> None:
    heir, later = scene.restore(), scene.add_job("c" * 32)
    later.restored, later.restored_at = heir.snapshots[-1], ago(170)
    scene.add_snapshot(later, 9, (), 160, failure="damaged_metadata")


@case("kept", "in_doubt")
def a_damaged_metadata_of_a_job_that_nobody_knows_keeps_everything(scene: Scene) -> None:
    heir = scene.add_job(HEIR)
    heir.known = False
    scene.add_snapshot(heir, 9, (), 190, failure="damaged_metadata")


@case("kept", "in_doubt")
def a_damaged_metadata_of_a_job_that_went_on_from_its_own_checkpoint_keeps_everything(
    scene: Scene,
) -> None:
    heir = scene.add_job(HEIR)
    heir.restored, heir.restored_at = scene.add_snapshot(heir, 8, (), 195), ago(192)
    scene.add_snapshot(heir, 9, (), 190, failure="damaged_metadata")


@case("orphan", "unreferenced")
def a_damaged_metadata_of_whatever_job_reaches_the_jobs_that_its_bytes_name(scene: Scene) -> None:
    heir = scene.add_job(HEIR)
    heir.known = False
    needs = scene.plant(f"{HEIR}/shared/{THIRD}").path
    scene.add_snapshot(heir, 10, (needs,), 190, failure="damaged_metadata")


@case("kept", "in_doubt")
def a_damaged_metadata_that_names_the_directory_of_a_job_keeps_all_files_there(
    scene: Scene,
) -> None:
    heir = scene.add_job(HEIR)
    heir.known = False
    scene.add_snapshot(heir, 10, scene.snapshot.needs, 190, failure="damaged_metadata")


@case("orphan", "unreferenced")
def an_empty_metadata_keeps_the_files_of_its_own_job_alone(scene: Scene) -> None:
    heir = scene.add_job(HEIR)
    heir.known = False
    scene.add_snapshot(heir, 9, (), 190, failure="empty_metadata")


@case("kept", "in_doubt")
def an_empty_metadata_keeps_the_files_of_its_job(scene: Scene) -> None:
    scene.add_snapshot(scene.job, 9, (), 190, failure="empty_metadata")


@case("orphan", "unreferenced")
def a_metadata_that_is_not_of_flink_is_no_doubt(scene: Scene) -> None:
    stranger = scene.add_job(HEIR)
    stranger.known = False
    scene.add_snapshot(stranger, 9, (), 190, failure="foreign_metadata")


@case("kept", "unreadable_snapshot", f"{HEIR}/chk-9/_metadata")
def a_metadata_that_is_not_of_flink_is_kept_itself(scene: Scene) -> None:
    a_metadata_that_is_not_of_flink_is_no_doubt(scene)


@case("kept", "in_doubt")
def a_metadata_without_flinks_magic_number_that_is_nothing_known_keeps_everything(
    scene: Scene,
) -> None:
    scene.plant("tables/orders/_metadata")
    scene.world.snapshots.append(
        Snapshot(
            f"{scene.world.root}/tables/orders/_metadata", None, 8, (), {}, ago(190),
            failure="no_magic_number",
        )
    )  # fmt: skip


@case("orphan", "unreferenced")
def a_metadata_that_somebody_acknowledged_is_no_doubt(scene: Scene) -> None:
    a_metadata_without_flinks_magic_number_that_is_nothing_known_keeps_everything(scene)
    scene.world.acknowledged[scene.world.snapshots[-1].path] = ago(190)


@case("kept", "in_doubt")
def a_metadata_that_changed_since_somebody_acknowledged_it_is_a_doubt_again(scene: Scene) -> None:
    a_metadata_without_flinks_magic_number_that_is_nothing_known_keeps_everything(scene)
    scene.world.acknowledged[scene.world.snapshots[-1].path] = ago(191)


def keep_beside(scene: Scene, name: str, failure: str = "unreadable_file") -> None:
    """Somebody put a checkpoint of any job into the directory of a job that stems from no other."""
    scene.add_job(HEIR)
    path = scene.plant(f"{HEIR}/{name}/_metadata").path
    scene.world.snapshots.append(Snapshot(path, None, 9, (), {}, ago(190), failure=failure))


@case("kept", "in_doubt")
def a_metadata_that_nobody_can_read_of_no_checkpoint_of_the_job_around_it_keeps_everything(
    scene: Scene,
) -> None:
    keep_beside(scene, "backup-of-another")


@case("orphan", "unreferenced")
def a_metadata_that_nobody_can_read_of_a_checkpoint_of_the_job_around_it_keeps_its_files_alone(
    scene: Scene,
) -> None:
    keep_beside(scene, "chk-9")


@case("kept", "in_doubt")
def a_directory_that_flink_does_not_make_keeps_everything_where_it_cannot_be_listed(
    scene: Scene,
) -> None:
    scene.add_job(HEIR)
    scene.world.unlisted = f"{scene.world.root}/{HEIR}/backup"


# Jobs that an operator attested to be dead.


def attest(scene: Scene, *, hours: float = 80) -> None:
    scene.job.known, scene.job.attested_at = False, ago(hours)


@case("orphan", "unreferenced")
def what_nothing_refers_to_in_the_directory_of_a_dead_job_is_an_orphan(scene: Scene) -> None:
    attest(scene)


@case("retained_waste", "attested_dead", OTHER)
def what_only_checkpoints_of_a_dead_job_need_is_waste(scene: Scene) -> None:
    attest(scene)


@case("retained_waste", "attested_dead", f"{JOB}/chk-7/_metadata")
def a_checkpoint_of_a_dead_job_is_waste(scene: Scene) -> None:
    attest(scene)


@case("live", "referred", OTHER)
def a_checkpoint_of_a_job_that_nobody_attested_to_be_dead_is_none(scene: Scene) -> None:
    scene.job.known = False


@case("live", "referred", OTHER)
def what_a_checkpoint_of_another_job_needs_of_a_dead_one_is_live(scene: Scene) -> None:
    attest(scene)
    scene.restore(own=False)


@case("live", "referred", OTHER)
def a_dead_job_from_which_another_one_was_restored_that_is_not_whole_keeps_its_checkpoints(
    scene: Scene,
) -> None:
    attest(scene)
    scene.restore(whole=False)


@case("live", "referred", OTHER)
def a_dead_job_of_which_anything_was_written_since_is_none(scene: Scene) -> None:
    attest(scene)
    scene.plant(f"{JOB}/shared/{THIRD}", 79)


@case("live", "referred", OTHER)
def a_dead_job_of_which_a_file_appeared_since_is_none(scene: Scene) -> None:
    attest(scene)
    scene.plant(f"{JOB}/shared/{THIRD}").first_seen = ago(79)


@case("live", "referred", OTHER)
def a_dead_job_that_is_known_to_have_completed_a_checkpoint_since_is_none(scene: Scene) -> None:
    attest(scene)
    scene.job.known, scene.job.seen, scene.job.last_completed = True, False, ago(79)


@case("live", "referred", OTHER)
def a_dead_job_that_its_cluster_reports_to_run_is_none(scene: Scene) -> None:
    attest(scene)
    scene.job.known, scene.job.terminal = True, False


@case("live", "referred", OTHER)
def a_dead_job_that_may_run_where_nobody_knows_is_none(scene: Scene) -> None:
    attest(scene)
    again = scene.add_job(JOB, terminal=False, cluster="c2")
    again.path_reported = False


@case("retained_waste", "attested_dead", OTHER)
def a_dead_job_whose_cluster_was_removed_is_dead(scene: Scene) -> None:
    attest(scene)
    scene.job.known, scene.job.terminal, scene.job.seen = True, False, False


@case("live", "snapshot", f"{JOB}/chk-7/_metadata")
def a_checkpoint_of_a_dead_job_of_which_there_is_a_copy_is_no_waste(scene: Scene) -> None:
    attest(scene)
    path = scene.snapshot.path.replace(f"/{JOB}/", f"/again/{JOB}/")
    scene.world.files[path] = replace(scene.world.files[scene.snapshot.path], path=path)
    scene.world.snapshots.append(replace(scene.snapshot, path=path))


@case("orphan", "unreferenced")
def a_metadata_that_nobody_can_read_of_a_dead_job_keeps_its_own_files_alone(scene: Scene) -> None:
    dead = scene.add_job(HEIR)
    dead.known, dead.attested_at = False, ago(80)
    scene.add_snapshot(dead, 9, (), 190, failure="unreadable_file")


@case("kept", "in_doubt")
def a_metadata_that_nobody_can_read_of_a_dead_job_keeps_its_own_files(scene: Scene) -> None:
    attest(scene)
    scene.add_snapshot(scene.job, 9, (), 190, failure="unreadable_file")


@case("orphan", "unreferenced")
def a_job_of_a_removed_cluster_that_was_attested_to_be_dead_is_no_doubt(scene: Scene) -> None:
    gone = scene.add_job(HEIR, terminal=False)
    gone.seen, gone.last_completed, gone.attested_at = False, ago(170), ago(80)
    gone.restored, gone.restored_at = scene.snapshot, ago(190)
    scene.plant(f"{HEIR}/shared/{THIRD}")


@case("kept", "in_doubt")
def a_job_of_a_removed_cluster_is_a_doubt(scene: Scene) -> None:
    a_job_of_a_removed_cluster_that_was_attested_to_be_dead_is_no_doubt(scene)
    scene.world.jobs[-1].attested_at = None


def lose(scene: Scene, job_id: str, origin: Snapshot, hours: float) -> Job:
    """A job was restored from there; its own last checkpoint lies where nobody looks, and may refer
    to any file that the one did which it was restored from.
    """
    heir = scene.add_job(job_id)
    heir.restored, heir.restored_at, heir.last_completed = origin, ago(hours + 10), ago(hours)
    path = f"{heir.directory}/chk-9/_metadata"
    heir.snapshots.append(Snapshot(path, heir, 9, (), {}, ago(hours)))
    scene.plant(f"{job_id}/shared/{THIRD}")
    return heir


def claim_and_lose(scene: Scene) -> Job:
    """A job was restored from checkpoint 7 and deleted it in the end."""
    heir = lose(scene, HEIR, scene.snapshot, 150)
    scene.world.snapshots.remove(scene.snapshot)
    del scene.world.files[scene.snapshot.path]
    return heir


@case("kept", "last_unfound")
def what_a_dead_job_left_is_kept_for_the_last_checkpoint_of_its_heir_that_nobody_found(
    scene: Scene,
) -> None:
    claim_and_lose(scene)
    attest(scene)


@case("kept", "last_unfound")
def what_a_job_that_deleted_its_last_checkpoint_left_is_kept_for_the_one_of_its_heir(
    scene: Scene,
) -> None:
    claim_and_lose(scene)
    scene.job.ended.append((7, True, True))


@case("kept", "last_unfound")
def what_the_first_of_three_left_is_kept_for_the_last_checkpoint_of_the_third(
    scene: Scene,
) -> None:
    heir = claim_and_lose(scene)
    attest(scene)
    heir.attested_at = ago(80)
    lose(scene, "c" * 32, heir.snapshots[-1], 130)


def lose_after_copy(scene: Scene, directory: str) -> None:
    """The heir was restored from another place of checkpoint 7, and both are gone."""
    moved = replace(scene.snapshot, path=f"{scene.world.root}/{directory}/_metadata")
    scene.world.snapshots.remove(scene.snapshot)
    del scene.world.files[scene.snapshot.path]
    attest(scene)
    lose(scene, HEIR, moved, 150)


@case("kept", "last_unfound")
def what_a_dead_job_left_is_kept_for_an_heir_of_a_copy_of_its_checkpoint(scene: Scene) -> None:
    lose_after_copy(scene, f"backup/{JOB}/chk-7")


@case("kept", "last_unfound")
def what_a_dead_job_left_is_kept_for_an_heir_of_what_nobody_knows(scene: Scene) -> None:
    lose_after_copy(scene, "archive/mine")


@case("kept", "last_unfound")
def what_a_dead_job_left_is_kept_for_an_heir_that_went_on_from_its_own_checkpoint(
    scene: Scene,
) -> None:
    lose_after_copy(scene, f"{HEIR}/chk-8")


@case("orphan", "unreferenced")
def what_a_dead_job_left_is_judged_where_the_checkpoint_that_its_heir_took_is_read(
    scene: Scene,
) -> None:
    snapshot = scene.snapshot
    claim_and_lose(scene)
    scene.world.snapshots.append(snapshot)
    scene.world.files[snapshot.path] = Planted(snapshot.path, 10, ago(200), first_seen=ago(96))
    attest(scene)


@case("orphan", "unreferenced")
def what_a_dead_job_left_is_judged_where_its_heir_is_dead_as_well(scene: Scene) -> None:
    heir = claim_and_lose(scene)
    attest(scene)
    heir.attested_at = ago(80)


def attest_of_cluster(scene: Scene, what: str = "both") -> None:
    """Its cluster was removed; the statement names the cluster and the job."""
    scene.job.terminal, scene.job.seen = False, False
    scene.job.attested_at, scene.job.attested_as = ago(80), what


@case("retained_waste", "attested_dead", OTHER)
def a_job_that_was_attested_by_cluster_and_directory_is_dead(scene: Scene) -> None:
    attest_of_cluster(scene)


def share_directory(scene: Scene, *, terminal: bool, path_reported: bool = True) -> None:
    """The job of another cluster has the same id, and may write to the same directory."""
    other = scene.add_job(JOB, cluster="c2", terminal=terminal)
    other.snapshots, other.last_completed = [scene.snapshot], ago(200)
    other.path_reported = path_reported
    attest_of_cluster(scene)


@case("live", "referred", OTHER)
def a_dead_job_says_nothing_of_one_of_another_cluster_that_left_checkpoints_there(
    scene: Scene,
) -> None:
    share_directory(scene, terminal=True)


@case("live", "referred", OTHER)
def a_dead_job_says_nothing_of_one_of_another_cluster_that_runs_there(scene: Scene) -> None:
    share_directory(scene, terminal=False)


@case("live", "referred", OTHER)
def a_dead_job_says_nothing_of_one_of_another_cluster_that_may_have_written_there(
    scene: Scene,
) -> None:
    share_directory(scene, terminal=True, path_reported=False)


@case("orphan", "unreferenced")
def what_a_job_left_is_judged_that_was_attested_by_its_cluster_alone(scene: Scene) -> None:
    attest_of_cluster(scene, "job")


@case("kept", "job_unseen")
def a_job_that_was_attested_by_its_cluster_alone_lives_where_its_directory_was_written_since(
    scene: Scene,
) -> None:
    attest_of_cluster(scene, "job")
    scene.plant(f"{JOB}/shared/{THIRD}", 79)


@case("kept", "in_doubt")
def what_somebody_put_into_the_directory_of_a_dead_job_may_be_of_another_job(scene: Scene) -> None:
    keep_beside(scene, "backup-of-another")
    scene.world.jobs[-1].attested_at = ago(80)


# Directories that an operator excluded.


@case("kept", "excluded")
def a_file_below_an_excluded_directory_is_kept(scene: Scene) -> None:
    scene.world.excluded = f"{scene.world.root}/{JOB}/shared"


@case("orphan", "unreferenced")
def a_file_beside_an_excluded_directory_is_judged(scene: Scene) -> None:
    scene.world.excluded = f"{scene.world.root}/{JOB}/shar"


@case("live", "referred")
def what_a_checkpoint_below_an_excluded_directory_needs_is_live(scene: Scene) -> None:
    scene.world.excluded = f"{scene.world.root}/{HEIR}"
    scene.add_snapshot(scene.add_job(HEIR), 8, (scene.file.path,), 190)


@case("orphan", "unreferenced")
def a_torn_metadata_of_a_checkpoint_that_never_completed_is_no_doubt(scene: Scene) -> None:
    scene.add_snapshot(scene.job, 9, (), 190, failure="incomplete_metadata")
    scene.job.ended.append((9, False, False))


@case("kept", "in_doubt")
def a_torn_metadata_is_a_doubt_where_a_checkpoint_of_that_number_also_completed(
    scene: Scene,
) -> None:
    scene.add_snapshot(scene.job, 9, (), 190, failure="incomplete_metadata")
    scene.job.ended += [(9, False, False), (9, True, True)]


@case("kept", "in_doubt")
def a_directory_that_cannot_be_listed_keeps_everything(scene: Scene) -> None:
    scene.world.unlisted = f"{scene.world.root}/{HEIR}"


@case("orphan", "unreferenced")
def a_directory_of_a_job_that_stems_from_no_other_keeps_nothing_else_where_it_cannot_be_listed(
    scene: Scene,
) -> None:
    scene.add_job(HEIR)
    scene.world.unlisted = f"{scene.world.root}/{HEIR}/chk-9"


@case("orphan", "unreferenced")
def a_reference_to_an_unknown_file_system_keeps_nothing_that_it_does_not_name(
    scene: Scene,
) -> None:
    scene.snapshot.written = dict.fromkeys(scene.snapshot.needs, "hdfs://nobody-knows/flink/x")


@case("kept", "in_doubt")
def a_reference_to_an_unknown_file_system_keeps_the_files_of_the_job_that_it_names(
    scene: Scene,
) -> None:
    other = f"hdfs://nobody-knows/flink/{JOB}/shared/{THIRD}"
    scene.snapshot.written = dict.fromkeys(scene.snapshot.needs, other)


@case("kept", "other_spelling")
def a_reference_that_ends_alike_below_another_directory_keeps_the_file(scene: Scene) -> None:
    scene.snapshot.written = {"": scene.file.path.replace("/flink/", "/mounted/flink/")}


@case("kept", "other_spelling", f"{'e' * 32}/shared/{JOB}/shared/{UUID}")
def a_directory_above_that_is_named_like_a_job_hides_no_other_spelling(scene: Scene) -> None:
    tenant = f"{'e' * 32}/shared"
    own = add_checkpoint(scene, scene.job, 8, 150)
    scene.plant(f"{tenant}/{JOB}/shared/{UUID}")
    del scene.world.files[scene.file.path]
    own.written |= {"": f"{scene.world.root}-mounted/{JOB}/shared/{UUID}"}


@case("kept", "other_spelling")
def a_reference_to_a_missing_file_of_the_root_that_ends_alike_keeps_the_file(scene: Scene) -> None:
    scene.snapshot.written |= {"": scene.file.path.replace("/flink/", "/flink/mounted/")}


@case("kept", "other_spelling")
def a_reference_in_other_upper_and_lower_case_keeps_the_file(scene: Scene) -> None:
    scene.snapshot.written |= {
        "": scene.file.path.replace("/flink/", "/Flink/").replace(JOB, JOB.upper())
    }


@case("kept", "other_spelling")
def a_reference_to_a_file_of_that_name_in_another_place_of_flinks_keeps_the_file(
    scene: Scene,
) -> None:
    """As regional checkpoints write it: relative to the checkpoint that a subtask's state is of."""
    scene.snapshot.written |= {"": scene.file.path.replace("/shared/", "/chk-6/")}


@case("orphan", "unreferenced")
def a_file_of_which_there_is_a_copy_that_nobody_uses_is_judged(scene: Scene) -> None:
    scene.plant(f"again/{JOB}/shared/{UUID}")


@case("kept", "other_spelling", f"again/{JOB}/shared/{UUID}")
def a_copy_is_kept(scene: Scene) -> None:
    scene.plant(f"again/{JOB}/shared/{UUID}")
    scene.snapshot.written = {one: one for one in scene.snapshot.needs}


@case("kept", "other_spelling")
def a_file_is_kept_that_another_job_may_write_under_its_other_name(scene: Scene) -> None:
    scene.plant(f"again/{JOB}/shared/{UUID}")
    other = scene.add_job(JOB, cluster="c2")
    other.root, other.last_completed = f"{scene.world.root}/again", ago(150)


@case("kept", "other_spelling")
def a_file_is_kept_where_anything_names_its_other_directory(scene: Scene) -> None:
    scene.plant(f"again/{JOB}/shared/{UUID}")
    named = scene.plant(f"again/{JOB}/shared/{THIRD}").path
    scene.snapshot.written |= {"": named}


@case("kept", "other_spelling")
def a_file_is_kept_that_was_needed_by_its_other_name_before(scene: Scene) -> None:
    copy = scene.plant(f"again/{JOB}/shared/{UUID}").path
    scene.world.earlier.append((f"{scene.world.root}/again/{JOB}/chk-5/_metadata", copy, False))


@case("kept", "other_spelling")
def a_file_with_another_name_in_another_root_is_kept(scene: Scene) -> None:
    scene.world.second_root = scene.world.root.replace("/flink", "/other")
    path = scene.file.path.replace("/flink/", "/other/")
    scene.world.files[path] = replace(scene.file, path=path)


@case("orphan", "unreferenced")
def a_file_is_judged_whose_other_name_lies_below_an_excluded_directory(scene: Scene) -> None:
    a_file_with_another_name_in_another_root_is_kept(scene)
    scene.world.excluded = scene.world.second_root


@case("kept", "other_spelling")
def a_file_is_kept_whose_other_name_is_used_although_its_directory_is_excluded(
    scene: Scene,
) -> None:
    a_file_is_judged_whose_other_name_lies_below_an_excluded_directory(scene)
    named = f"{scene.world.second_root}/{JOB}/shared/{THIRD}"
    scene.world.files[named] = replace(scene.file, path=named)
    scene.snapshot.written |= {"": named}


@case("kept", "other_spelling", f"again/{JOB}/shared/{OTHER}")
def what_a_checkpoint_needs_by_one_name_is_kept_under_the_other(scene: Scene) -> None:
    scene.plant(f"again/{JOB}/shared/{OTHER}")


@case("orphan", "unreferenced")
def a_file_elsewhere_with_two_names_keeps_nothing_here(scene: Scene) -> None:
    for directory in ("", "again/"):
        scene.plant(f"{directory}{HEIR}/shared/{THIRD}")


@case("orphan", "unreferenced")
def another_directory_of_the_same_job_id_with_other_files_is_no_second_name(scene: Scene) -> None:
    scene.plant(f"other-cluster/{JOB}/shared/{THIRD}")


@case("orphan", "unreferenced")
def a_metadata_of_which_there_is_a_copy_that_nobody_uses_keeps_nothing_else(scene: Scene) -> None:
    path = scene.snapshot.path.replace(f"/{JOB}/", f"/again/{JOB}/")
    scene.plant(f"again/{JOB}/shared/{OTHER}")
    scene.world.files[path] = replace(scene.world.files[scene.snapshot.path], path=path)
    scene.world.snapshots.append(replace(scene.snapshot, path=path))


@case("kept", "in_doubt")
def a_metadata_that_is_the_same_at_two_addresses_keeps_the_files_of_its_job(scene: Scene) -> None:
    path = scene.snapshot.path.replace(f"/{JOB}/", f"/again/{JOB}/")
    scene.world.files[path] = replace(scene.world.files[scene.snapshot.path], path=path)
    scene.world.snapshots.append(replace(scene.snapshot, path=path))


@case("orphan", "unreferenced")
def a_checkpoint_of_the_same_job_id_and_number_that_refers_to_other_files_is_another_one(
    scene: Scene,
) -> None:
    path = scene.snapshot.path.replace(f"/{JOB}/", f"/other-cluster/{JOB}/")
    needs = scene.plant(f"other-cluster/{JOB}/shared/{THIRD}").path
    scene.world.files[path] = replace(scene.world.files[scene.snapshot.path], path=path)
    scene.world.snapshots.append(
        replace(scene.snapshot, path=path, needs=(needs,), written={needs: needs})
    )


@case("orphan", "unreferenced")
def a_savepoint_that_somebody_copied_is_no_second_name(scene: Scene) -> None:
    for directory in ("", "archive/"):
        name = f"{directory}savepoint-{JOB[:6]}-0123456789ab"
        needs = scene.plant(f"{name}/{THIRD}").path
        path = scene.plant(f"{name}/_metadata").path
        scene.world.snapshots.append(
            Snapshot(path, scene.job, 3, (needs,), {needs: needs}, ago(190))
        )


@case("orphan", "unreferenced")
def a_running_job_that_stems_from_no_other_keeps_its_own_files_alone_where_no_checkpoint_is_found(
    scene: Scene,
) -> None:
    heir = scene.add_job(HEIR, terminal=False)
    heir.last_completed = ago(1)
    scene.plant(f"{HEIR}/shared/{THIRD}")


@case("kept", "in_doubt")
def a_running_job_without_any_checkpoint_found_keeps_what_it_stems_from(scene: Scene) -> None:
    heir = scene.add_job(HEIR, terminal=False)
    heir.restored, heir.restored_at, heir.last_completed = scene.snapshot, ago(190), ago(1)
    scene.plant(f"{HEIR}/shared/{THIRD}")


@case("kept", "in_doubt")
def a_restore_in_flight_from_a_snapshot_that_is_gone_keeps_everything(scene: Scene) -> None:
    heir = scene.add_job(HEIR, terminal=False)
    heir.restored, heir.restored_at = scene.snapshot, ago(2)
    scene.snapshot.listed = False
    del scene.world.files[scene.snapshot.path]


@case("retained_waste", "superseded", OTHER)
def what_a_successor_that_is_whole_by_itself_left_behind_is_waste(scene: Scene) -> None:
    scene.restore()


@case("live", "referred", OTHER)
def a_successor_that_still_refers_to_it_leaves_no_waste(scene: Scene) -> None:
    scene.restore(own=False)


@case("live", "referred", OTHER)
def a_successor_that_misses_a_file_leaves_no_waste(scene: Scene) -> None:
    scene.restore(whole=False)


@case("live", "referred", OTHER)
def a_checkpoint_written_after_the_last_one_of_its_successor_is_of_somebody_else(
    scene: Scene,
) -> None:
    heir = scene.restore(terminal=True)
    heir.last_completed = ago(181)


@case("live", "referred", OTHER)
def a_job_that_runs_has_no_waste(scene: Scene) -> None:
    scene.restore()
    scene.job.terminal, scene.job.last_completed = False, ago(1)


@case("live", "referred", OTHER)
def a_job_that_went_on_after_the_other_was_restored_has_no_waste(scene: Scene) -> None:
    scene.restore()
    scene.job.last_completed = ago(100)


@case("recent", "ended_recently", OTHER)
def a_checkpoint_that_completed_while_the_root_was_listed_may_need_what_is_waste_of_another_job(
    scene: Scene,
) -> None:
    # The successor's waste lies in the directory of the first job, which went on for a while and
    # has no checkpoint listed.
    heir = scene.restore(own=False, terminal=True)
    scene.world.snapshots.remove(scene.snapshot)
    del scene.world.files[scene.snapshot.path]
    scene.job.last_completed, heir.last_completed = ago(1), ago(180)
    third = scene.add_job("c" * 32)
    third.restored, third.restored_at, third.last_completed = heir.snapshots[-1], ago(170), ago(160)
    scene.add_snapshot(third, 9, (), 160)


@case("live", "referred", OTHER)
def a_second_job_restored_from_it_that_is_not_whole_yet_keeps_it(scene: Scene) -> None:
    scene.restore()
    second = scene.add_job("c" * 32, terminal=False)
    second.restored, second.restored_at = scene.snapshot, ago(5)


@case("kept", "in_doubt", OTHER)
def a_doubt_keeps_waste_as_well(scene: Scene) -> None:
    scene.restore()
    scene.world.unlisted = f"{scene.world.root}/{'d' * 32}"


@case("live", "referred", OTHER)
def a_checkpoint_later_than_the_one_restored_from_is_no_waste(scene: Scene) -> None:
    scene.restore()
    scene.add_snapshot(scene.job, 9, scene.snapshot.needs, 195)


# Jobs of one id, each in a directory of its own: every application under high availability has the
# id 000…0.


def add_application(scene: Scene, job_id: str = JOB, *, terminal: bool = False) -> Job:
    """Of another cluster, below a directory of its own."""
    other = scene.add_job(job_id, cluster="c2", terminal=terminal)
    other.root = f"{scene.world.root}/app-b"
    return other


def add_checkpoint(scene: Scene, job: Job, number: int, hours: float) -> Snapshot:
    uuid = f"0000{number:04}-8083-4a9f-917b-13103a7134c4"
    needs = scene.plant(f"{job.directory.removeprefix(scene.world.root)[1:]}/shared/{uuid}").path
    path = f"{job.directory}/chk-{number}/_metadata"
    snapshot = Snapshot(path, job, number, (needs,), {needs: needs}, ago(hours))
    scene.world.files[path] = Planted(path, 10, ago(hours), first_seen=ago(96))
    scene.world.snapshots.append(snapshot)
    job.snapshots.append(snapshot)
    job.last_completed = ago(hours)
    return snapshot


@case("orphan", "unreferenced")
def an_application_of_the_same_id_elsewhere_keeps_nothing_here(scene: Scene) -> None:
    add_checkpoint(scene, add_application(scene), 60, 150)


@case("live", "referred", OTHER)
def a_successor_of_another_application_makes_no_waste_here(scene: Scene) -> None:
    other = add_application(scene, terminal=True)
    last = add_checkpoint(scene, other, 60, 150)
    heir = scene.add_job(HEIR, terminal=False)
    heir.restored, heir.restored_at = last, ago(140)
    add_checkpoint(scene, heir, 61, 130)


@case("live", "referred", OTHER)
def a_checkpoint_of_another_application_is_none_of_the_restored_one(scene: Scene) -> None:
    scene.restore()
    waiting, whole = scene.add_job("c" * 32, terminal=False), add_application(scene, "c" * 32)
    waiting.restored, waiting.restored_at = scene.snapshot, ago(150)
    add_checkpoint(scene, whole, 60, 100)


@case("kept", "was_referred")
def what_another_application_discarded_says_nothing_of_this_one(scene: Scene) -> None:
    scene.world.earlier.append(
        (f"{scene.world.root}/{JOB}/chk-5/_metadata", scene.file.path, False)
    )
    other = add_application(scene)
    add_checkpoint(scene, other, 60, 150)
    other.ended.append((5, True, True))


@case("kept", "in_doubt")
def a_torn_metadata_is_a_doubt_where_the_checkpoint_of_another_application_failed(
    scene: Scene,
) -> None:
    scene.add_snapshot(scene.job, 5, (), 210, failure="incomplete_metadata")
    other = add_application(scene)
    add_checkpoint(scene, other, 60, 150)
    other.ended.append((5, False, False))


@case("kept", "in_doubt")
def a_running_application_without_a_checkpoint_found_is_a_doubt_although_another_has_one(
    scene: Scene,
) -> None:
    add_checkpoint(scene, add_application(scene, HEIR), 60, 150)
    heir = scene.add_job(HEIR, terminal=False)
    heir.restored, heir.restored_at, heir.last_completed = scene.snapshot, ago(190), ago(1)
    scene.plant(f"{HEIR}/shared/{THIRD}")


@case("live", "referred", OTHER)
def a_successor_that_needs_a_file_of_another_application_of_its_id_leaves_no_waste(
    scene: Scene,
) -> None:
    heir = scene.restore()
    other = add_application(scene, HEIR)
    foreign = add_checkpoint(scene, other, 60, 150).needs
    heir.snapshots[-1].needs += foreign
    heir.snapshots[-1].written |= {one: one for one in foreign}


# What was not seen makes nothing deletable.


@case("kept", "writer_unknown")
def a_file_of_a_job_of_which_no_path_was_reported_is_kept(scene: Scene) -> None:
    # Where the root was registered for its cluster alone, that says it.
    scene.add_job(HEIR, cluster="c2")
    scene.job.path_reported = False


@case("kept", "job_unseen")
def a_file_in_another_directory_than_the_job_of_its_id_writes_is_kept(scene: Scene) -> None:
    scene.job.root = f"{scene.world.root}/elsewhere"


@case("kept", "in_doubt")
def a_running_job_of_which_the_newest_checkpoint_was_not_found_keeps_what_it_stems_from(
    scene: Scene,
) -> None:
    heir = scene.add_job(HEIR, terminal=False)
    heir.restored, heir.restored_at = scene.snapshot, ago(190)
    scene.add_snapshot(heir, 8, (), 180)
    missed = scene.add_snapshot(heir, 9, (), 100)
    heir.last_completed = ago(100)
    missed.listed = False
    del scene.world.files[missed.path]


@case("kept", "in_doubt")
def a_running_job_restored_from_an_unknown_place_keeps_everything(scene: Scene) -> None:
    heir = scene.add_job(HEIR, terminal=False)
    heir.restored, heir.restored_at, heir.restored_path_reported = scene.snapshot, ago(2), False


@case("kept", "in_doubt", OTHER)
def a_job_restored_from_here_that_writes_outside_of_all_roots_keeps_everything(
    scene: Scene,
) -> None:
    heir = scene.add_job(HEIR)
    heir.restored, heir.restored_at, heir.last_completed = scene.snapshot, ago(190), ago(170)
    heir.root = scene.world.root.replace("/flink", "/outside")
    # Claimed, and deleted since: its own checkpoints alone refer to what was in it.
    scene.world.snapshots.remove(scene.snapshot)
    del scene.world.files[scene.snapshot.path]


@case("kept", "job_unseen")
def a_job_that_moved_its_directory_out_of_all_roots_keeps_what_it_left(scene: Scene) -> None:
    scene.job.root = scene.world.root.replace("/flink", "/outside")


@case("live", "referred", OTHER)
def a_dead_job_whose_last_checkpoint_was_not_found_may_still_need_what_it_was_restored_from(
    scene: Scene,
) -> None:
    scene.restore()
    dead = scene.add_job("c" * 32)
    dead.restored, dead.restored_at, dead.last_completed = scene.snapshot, ago(190), ago(170)


@case("live", "referred", OTHER)
def a_checkpoint_that_a_job_took_when_it_began_again_from_1_is_no_waste(scene: Scene) -> None:
    scene.restore()
    scene.snapshot.modified = ago(150)


@case("live", "referred", OTHER)
def what_lies_below_a_checkpoint_that_the_job_is_not_known_to_have_taken_is_no_waste(
    scene: Scene,
) -> None:
    later = scene.add_snapshot(scene.add_job(HEIR), 9, (), 195)
    scene.world.files[later.path.replace(HEIR, JOB)] = replace(
        scene.world.files.pop(later.path), path=later.path.replace(HEIR, JOB)
    )
    later.path = later.path.replace(HEIR, JOB)
    heir = scene.add_job("c" * 32, terminal=False)
    heir.restored, heir.restored_at = later, ago(190)
    add_checkpoint(scene, heir, 10, 180)


DATABASE = f"{JOB}/shared/op_Count_{HEIR}__1_2__attempt_0/db/{THIRD}"


def run_on_a_database(scene: Scene) -> Planted:
    """The job runs since 300 hours, and all of its tasks were deployed again 150 hours ago; the
    file is older than that.
    """
    scene.job.terminal, scene.job.last_completed = False, ago(1)
    scene.job.started, scene.job.redeployed = ago(300), ago(150)
    return scene.plant(DATABASE)


@case("orphan", "unreferenced", DATABASE)
def what_an_attempt_that_ended_left_in_its_database_is_an_orphan(scene: Scene) -> None:
    run_on_a_database(scene)


@case("kept", "database", DATABASE)
def what_an_attempt_of_today_may_have_written_to_its_database_is_kept(scene: Scene) -> None:
    run_on_a_database(scene).modified = ago(149)


@case("kept", "database", DATABASE)
def what_was_written_about_when_the_attempts_of_today_were_deployed_is_kept(scene: Scene) -> None:
    run_on_a_database(scene).modified = ago(150) - timedelta(seconds=60)


@case("kept", "database", DATABASE)
def a_database_is_kept_where_nobody_knows_since_when_all_of_its_attempts_run(scene: Scene) -> None:
    run_on_a_database(scene)
    scene.job.redeployed = None


@case("kept", "database", DATABASE)
def what_an_earlier_run_left_in_its_database_is_kept_while_a_later_one_goes_on_from_it(
    scene: Scene,
) -> None:
    run_on_a_database(scene)
    scene.job.started = scene.job.restored_at = ago(190)
    scene.job.restored = scene.snapshot


@case("kept", "database", DATABASE)
def what_a_checkpoint_was_seen_to_name_is_kept_while_the_job_runs(scene: Scene) -> None:
    run_on_a_database(scene).last_referred = ago(120)
    scene.world.files[f"{scene.world.root}/{DATABASE}"].unreferenced_since = ago(96)


@case("live", "referred", DATABASE)
def a_file_of_a_database_that_a_checkpoint_names_is_live(scene: Scene) -> None:
    scene.add_snapshot(scene.job, 8, (run_on_a_database(scene).path,), 100)


@case("orphan", "unreferenced", DATABASE)
def what_a_job_that_ended_left_in_its_databases_is_an_orphan(scene: Scene) -> None:
    scene.plant(DATABASE)
    scene.job.ended_at = ago(199)


@case("kept", "later_run", DATABASE)
def a_database_that_was_written_after_its_job_had_ended_is_kept(scene: Scene) -> None:
    scene.plant(DATABASE, 198)
    scene.job.ended_at = ago(199)


@case("kept", "database", DATABASE)
def a_database_of_a_job_that_ended_at_an_unknown_time_is_kept(scene: Scene) -> None:
    scene.plant(DATABASE)


@case("kept", "job_unseen", DATABASE)
def the_databases_of_a_job_that_nobody_sees_are_kept(scene: Scene) -> None:
    run_on_a_database(scene)
    scene.job.seen = False


@case("retained_waste", "superseded", DATABASE)
def a_database_goes_with_the_checkpoint_that_nobody_will_restore_from(scene: Scene) -> None:
    scene.snapshot.needs = (*scene.snapshot.needs, scene.plant(DATABASE).path)
    scene.snapshot.written = {path: path for path in scene.snapshot.needs}
    scene.restore()


FOREIGN = f"{JOB}/shared/db/CURRENT"


def name_something_kept(scene: Scene) -> None:
    """The checkpoint would be waste, but for a file of which nobody knows what it is."""
    scene.snapshot.needs = (*scene.snapshot.needs, scene.plant(FOREIGN).path)
    scene.snapshot.written = {path: path for path in scene.snapshot.needs}
    scene.restore()


@case("live", "snapshot", f"{JOB}/chk-7/_metadata")
def a_checkpoint_stays_that_alone_names_a_file_that_is_kept(scene: Scene) -> None:
    name_something_kept(scene)


@case("live", "referred", FOREIGN)
def a_file_that_is_kept_is_needed_by_the_checkpoint_that_names_it(scene: Scene) -> None:
    name_something_kept(scene)


@case("live", "referred", OTHER)
def a_checkpoint_that_stays_for_one_file_stays_whole(scene: Scene) -> None:
    name_something_kept(scene)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Said]]:
    scenes = {}
    for seed, (name, (change, *_)) in enumerate(CASES.items(), start=1):
        # Odd seeds name the clusters of their root.
        scenes[name] = Scene(World(2 * seed + 1, f"s3://bucket-{seed}/flink"))
        change(scenes[name])
    judged = judged_worlds(
        [scene.world for scene in scenes.values()], tmp_path_factory.mktemp("scenes")
    )
    of_world = {one.seed: said for one, said in judged}
    return {name: (scene.file.path, of_world[scene.world.seed]) for name, scene in scenes.items()}


@pytest.mark.parametrize("name", CASES)
def test_verdict(said: dict[str, tuple[str, Said]], name: str) -> None:
    path, of_world = said[name]
    _, verdict, reason, uuid = CASES[name]
    meant = (
        path.replace(UUID, uuid) if "/" not in uuid else path.replace(f"{JOB}/shared/{UUID}", uuid)
    )
    assert of_world.files[meant][:2] == (verdict, reason)


def test_a_metadata_that_was_not_finished_is_told_from_others(tmp_path: Path) -> None:
    scene = Scene(World(1, "hdfs://ns/flink"))
    unfinished = scene.plant(f"{JOB}/chk-9/._metadata.inprogress.{UUID}")
    other = scene.plant(f"{JOB}/chk-9/{UUID}")
    ((_, said),) = judged_worlds([scene.world], tmp_path)
    assert said.files[unfinished.path] == ("orphan", "unreferenced", "unfinished_metadata")
    assert said.files[other.path] == ("orphan", "unreferenced", "unknown")
