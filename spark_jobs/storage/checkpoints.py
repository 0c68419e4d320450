"""Retained snapshots: figures, and whether jobs can and may still restore from them."""

from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import pairwise

from ingest.flink_ids import is_given
from spark_jobs.storage.owners import (
    CLOCKS_APART_S,
    JOB,
    JOB_DIRECTORY,
    NOBODY,
    SAVEPOINT,
    is_of_time,
)
from spark_jobs.storage.plain import (
    NEVER,
    US_PER_H,
    US_PER_S,
    Key,
    Row,
    RowList,
    Rows,
    by,
    is_at_most,
    is_less,
    key_of,
    keys,
    largest,
    smallest,
)
from spark_jobs.storage.reference_sums import FIGURES
from spark_jobs.storage_words import LIVE, RETAINED_WASTE

CHECKPOINT = ("audit_id", "metadata_path")


def with_figures(snapshots: Rows, figures: Mapping[int, Row]) -> list[Row]:
    """Adds sums, ``self_contained`` and ``resolvable``. ``figures``: by snapshot number."""
    nothing = dict.fromkeys(FIGURES, 0)
    rows = []
    for number, snapshot in enumerate(snapshots):
        sums = figures.get(number, nothing)
        is_covered = sums["uncovered_files"] == 0 and snapshot["unplaced"] == 0
        rows.append(
            snapshot
            | sums
            | {
                "self_contained": sums["foreign_files"] == 0 and snapshot["unplaced"] == 0,
                "resolvable": False if sums["missing_files"] > 0 else is_covered or None,
            }
        )
    return rows


def age_starts(metadata: Rows) -> dict[Key, int]:
    """Listed _metadata → the instant from which its age counts; ``NEVER`` if unknown."""
    starts: dict[Key, int] = {}
    for row in metadata:
        key = row["audit_id"], row["path"]
        age_from = NEVER if row["modified"] is None else max(row["modified"], row["first_seen_at"])
        starts[key] = max(starts.get(key, age_from), age_from)
    return starts


def with_owners(checkpoints: Rows, owners: Rows) -> list[Row]:
    """Adds the data of ``owners.owners`` on the job of the directory."""
    owner_of = {key_of(owner, JOB_DIRECTORY): owner for owner in owners}
    return [NOBODY | owner_of.get(key_of(row, JOB_DIRECTORY), {}) | row for row in checkpoints]


def with_verdicts(
    checkpoints: RowList,
    outcomes: Rows,
    roots: Rows,
    age_starts: Mapping[Key, int],
    dead: Mapping[Key, int],
    copied: Set[Key],
) -> list[Row]:
    """Adds ``verdict``, ``is_attested`` and ``successor_job_id``. ``checkpoints``: from
    ``with_owners``. ``dead``: (audit_id, directory) of a job attested dead → since when.
    ``copied``: checkpoints with the same content as another, perhaps the same file. A checkpoint is
    waste if its job was seen in a terminal state, and a job restored from it, or from a later
    checkpoint of its job, has since completed a whole checkpoint that needs only its own files.
    While any job that may run was restored from that job and has no such checkpoint, that job has
    no waste. A dead job needs no successor. A savepoint is never waste.
    """
    by_origin = by(outcomes, "audit_id", "from_job_directory")
    # An heir of a directory that was not read: the directory may be another name of this one.
    read = keys(checkpoints, "audit_id", "job_directory")
    by_other_name = by(
        (
            heir
            for heir in outcomes
            if (heir["audit_id"], heir["from_job_directory"]) not in read
            and not heir["is_independent"]
        ),
        "audit_id",
        "from_job_id",
    )
    root_of = {key_of(root, ("audit_id", "root")): root for root in roots}
    judgements = []
    for row in checkpoints:
        heirs = [
            *by_origin.get((row["audit_id"], row["job_directory"]), ()),
            *by_other_name.get((row["audit_id"], row["job_id"]), ()),
        ]
        # A job restored from its own checkpoint is no successor of itself.
        successors = [heir for heir in heirs if heir["is_independent"] and not heir["is_own"]]
        age_from = age_starts.get(key_of(row, CHECKPOINT))
        dead_since = dead.get((row["audit_id"], row["job_directory"]))
        is_waste = key_of(row, CHECKPOINT) not in copied and _is_waste(
            row, heirs, successors, root_of[row["audit_id"], row["root"]], age_from, dead_since
        )
        successor = largest(heir["job_id"] for heir in successors) if is_waste else None
        judgements.append(
            row
            | {
                "verdict": RETAINED_WASTE if is_waste else LIVE,
                "is_attested": is_waste and dead_since is not None,
                "successor_job_id": successor,
            }
        )
    return judgements


def with_namers(judged: Rows, namers: RowList) -> list[Row]:
    """Keeps waste whose _metadata explains kept files. ``namers``: ``verdicts.NAMERS``."""
    goes, stays = (
        {row["checkpoint_no"] for row in namers if row["goes"] == flag} for flag in (True, False)
    )
    return [
        row | {"verdict": LIVE, "is_attested": False, "successor_job_id": None}
        if number in goes & stays
        else row
        for number, row in enumerate(judged)
    ]


def _is_waste(
    row: Row,
    heirs: Rows,
    successors: RowList,
    root: Row,
    age_from: int | None,
    dead_since: int | None,
) -> bool:
    guard = root["as_of"] - int(root["age_guard_h"]) * US_PER_H
    is_still_needed = any(not heir["is_independent"] and not heir["ended"] for heir in heirs)
    return bool(
        not row["is_savepoint"]
        and row["place"] == "metadata"
        and row["claims"] == 1
        and row["terminal"]
        and row["seen"]
        and not is_still_needed
        # A job of an unreachable cluster may have been restored from it.
        and not root["any_unreachable"]
        and (
            is_at_most(age_from, dead_since)
            if dead_since is not None
            else _is_succeeded(row, successors, root, guard)
        )
        # Its files may only be deleted if its ``_metadata`` may.
        and is_at_most(age_from, guard)
        and is_less(age_from, row["in_flight_since"], unknown=True)
    )


def _is_succeeded(row: Row, successors: RowList, root: Row, guard: int) -> bool:
    return bool(
        # The successor did not take over a checkpoint of an earlier run under the same id.
        is_at_most(row["started_at"], row["modified"], unknown=not is_given(row["job_id"]))
        and is_at_most(row["modified"], _with_clocks_apart(row["last_completed_at"]))
        # If several clusters write there, jobs may share the id: then only the last checkpoint is
        # known to be of this job.
        and (
            len(root["clusters"] or ()) == 1
            or is_at_most(row["last_completed_id"], row["checkpoint_id"])
        )
        and any(_has_left_behind(heir, row, guard) for heir in successors)
    )


def _with_clocks_apart(at: int | None) -> int | None:
    return None if at is None else at + CLOCKS_APART_S * US_PER_S


def _has_left_behind(heir: Row, row: Row, guard: int) -> bool:
    """Whether ``heir`` alone proves ``row`` unneeded: heirs of two runs prove nothing in between."""
    left_up_to, left_at = heir["from_checkpoint_id"], heir["restored_at"]
    return (
        is_at_most(row["checkpoint_id"], left_up_to)
        # The writer of a checkpoint after the job's last one is unknown.
        and is_at_most(left_up_to, row["last_completed_id"])
        # A job that starts again under its id counts from 1 again.
        and is_at_most(row["modified"], left_at)
        # If the job continued after the heir was restored, it was copied and not succeeded; and its
        # last checkpoint may not be listed yet.
        and is_at_most(row["last_completed_at"], smallest((left_at, guard)), unknown=True)
    )


def _own_checkpoints(checkpoints: Rows) -> dict[Key, list[Row]]:
    return by((row for row in checkpoints if not row["is_savepoint"] and row["claims"] == 1), *JOB)


def with_outcomes(
    checkpoints: Rows, restores: Rows, sole_owners: RowList, remembered: Rows
) -> list[Row]:
    """Restores with the outcome for their job, by its own checkpoints that were read.
    ``is_independent``: it has since completed a whole checkpoint that needs only its own files, and
    no longer reads the snapshot's files. ``ended``: it cannot run, and its last checkpoint was read
    or is known to be gone; if it was not found, it may refer to the snapshot's files. ``is_own``:
    restored from a directory that it writes. ``has_whole``: it has a whole checkpoint of any time;
    also for unreported jobs (``forgotten``). ``left_nothing``: Flink deleted its last checkpoint,
    another job took it over, or the job had none.
    """
    by_job = _own_checkpoints(checkpoints)
    homes = keys(sole_owners, *JOB, "job_directory")
    by_job_id = by((row for row in checkpoints if not row["is_savepoint"]), "audit_id", "job_id")
    outcomes = []
    for job in restores:
        of_job = by_job.get(key_of(job, JOB), [])
        whole = [
            row for row in of_job if row["seen"] and row["self_contained"] and row["resolvable"]
        ]
        if job.get("forgotten"):
            same_id = by_job_id.get((job["audit_id"], job["job_id"]), ())
            whole = [row for row in same_id if _is_whole_of_forgotten(row, job)]
        may_still_read = job["recorded"] or (job["reads_restored"] and not job["terminal"])
        outcomes.append(
            job
            | {
                "is_independent": bool(job["seen"] and not may_still_read)
                and any(_is_since_restore(row, job) for row in whole),
                "has_whole": bool(whole),
                "is_own": (*key_of(job, JOB), job["from_job_directory"]) in homes,
            }
        )
    left = _Left.of(outcomes, sole_owners, remembered)
    return [
        job
        | {
            "ended": bool(job["terminal"] and job["seen"] and not job["recorded"])
            and _is_accounted(job, by_job.get(key_of(job, JOB), ()), left),
            "left_nothing": job["keeps_last"] is False
            or job["last_completed_id"] is None
            or is_at_most(job["last_completed_id"], left.up_to.get(key_of(job, JOB))),
        }
        for job in outcomes
    ]


def _is_whole_of_forgotten(row: Row, job: Row) -> bool:
    """Whether the checkpoint is whole and of this job. Others may have an id that was given: then
    it must be in the directory that the job wrote and no known job claims.
    """
    is_its_own = not is_given(job["job_id"]) or (
        row["job_directory"] == job["written_directory"] and not row["claims"]
    )
    return bool(is_its_own and row["self_contained"] and row["resolvable"])


def last_unfound(
    checkpoints: Rows, outcomes: Rows, jobs: Rows, sole_owners: RowList, remembered: Rows
) -> set[Key]:
    """``JOB`` keys of ended jobs whose last checkpoint was not found: it may have been moved, and
    its files may be in the job's directory. ``checkpoints``: from ``with_owners``.
    """
    by_job = _own_checkpoints(checkpoints)
    left = _Left.of(outcomes, sole_owners, remembered)
    ended = (
        job
        for job in jobs
        if job["terminal"] and (job["last_completed_id"] is not None or job["completed_unread"])
    )
    return {
        key_of(job, JOB)
        for job in ended
        if not _is_accounted(job, by_job.get(key_of(job, JOB), ()), left)
    }


@dataclass(frozen=True)
class _Left:
    """Checkpoints that jobs left. ``up_to``: ``JOB`` → number of the last that another job took
    over, and deletes when it is no longer needed. ``read``: ``JOB`` → the newest that audits read
    (``previous_audit.REMEMBERED``), whose references are known.
    """

    up_to: Mapping[Key, int | None]
    read: Mapping[Key, RowList]

    @classmethod
    def of(cls, outcomes: Rows, sole_owners: Rows, remembered: Rows) -> "_Left":
        succeeded = by(
            (job for job in outcomes if job["is_independent"] and not job["is_own"]),
            "audit_id",
            "from_job_directory",
        )
        read_in = by(remembered, "job_directory")
        taken: dict[Key, list[int | None]] = defaultdict(list)
        read: dict[Key, list[Row]] = defaultdict(list)
        for home in sole_owners:
            heirs = succeeded.get((home["audit_id"], home["job_directory"]), ())
            taken[key_of(home, JOB)] += [heir["from_checkpoint_id"] for heir in heirs]
            read[key_of(home, JOB)] += read_in.get((home["job_directory"],), ())
        return cls({job: largest(numbers) for job, numbers in taken.items()}, read)


def _is_since_restore(row: Row, job: Row) -> bool:
    """Whether the job completed this checkpoint after its restore. A restored job continues its
    numbers: a lower number is of another writer. Before its first checkpoint, all are of the
    previous run. Files newer than an ended job's last checkpoint are of another writer. A run that
    began after the restore may have begun without a snapshot.
    """
    is_of_run = is_at_most(job["started_at"], _with_clocks_apart(job["restored_at"]), unknown=True)
    counts_on = is_less(job["from_checkpoint_id"], row["checkpoint_id"], unknown=True)
    has_completed = is_less(job["restored_at"], job["last_completed_at"])
    is_of_job = not job["terminal"] or is_at_most(
        row["modified"], _with_clocks_apart(job["last_completed_at"])
    )
    is_since = is_less(job["restored_at"], row["modified"])
    return bool(is_of_run and counts_on and has_completed and is_of_job and is_since)


def _is_accounted(job: Row, own_checkpoints: Rows, left: _Left) -> bool:
    """Whether a job's last checkpoint was read, or is known to be gone. Numbers repeat if an
    application starts again under its id.
    """
    last_id, last_at = job["last_completed_id"], job["last_completed_at"]
    if job["keeps_last"] is False:
        return True
    if last_at is None or job["completed_unread"]:
        return not job["completed_unread"]
    ends = [
        end
        for end in job["checkpoints_ended"] or ()
        if end["discarded"] and end["checkpoint_id"] == last_id
    ]
    if last_id is not None and any(
        end["triggered_at"] is None or is_of_time(last_at, end) for end in ends
    ):
        return True
    # A new JobManager starts the job again, and the job may end without another checkpoint.
    since = smallest((job["started_at"], last_at - CLOCKS_APART_S * US_PER_S))

    def has_last(rows: Rows) -> bool:
        return any(
            is_at_most(last_id, row["checkpoint_id"]) and not is_less(row["modified"], since)
            for row in rows
        )

    was_taken_over = is_at_most(last_id, left.up_to.get(key_of(job, JOB)))
    return has_last(own_checkpoints) or (
        was_taken_over and has_last(left.read.get(key_of(job, JOB), ()))
    )


def previous_of(snapshots: RowList) -> dict[int, int]:
    """Number of a checkpoint → number of its job's previous one; no savepoints."""
    in_job: dict[Key, list[int]] = {}
    for number, row in enumerate(snapshots):
        if not row["is_savepoint"] and row["job_directory"] is not None:
            in_job.setdefault((row["audit_id"], row["job_directory"]), []).append(number)

    def order(number: int) -> tuple[int, str]:
        row = snapshots[number]
        return -1 if row["checkpoint_id"] is None else row["checkpoint_id"], row["metadata_path"]

    ordered = [sorted(numbers, key=order) for numbers in in_job.values()]
    return {after: before for numbers in ordered for before, after in pairwise(numbers)}


def superseded(checkpoints: RowList, restores: Rows) -> set[Key]:
    """Checkpoints before a whole checkpoint of their job, or up to the origin of a job that has a
    whole checkpoint.
    """
    in_job = [
        row
        for row in checkpoints
        if row["resolvable"] and not row["is_savepoint"] and row["job_directory"] is not None
    ]
    last = {
        key: largest(row["checkpoint_id"] for row in rows)
        for key, rows in by(in_job, "audit_id", "job_directory").items()
    }
    successful = keys((row for row in in_job if row["claims"] == 1), *JOB)
    heirs = [job for job in restores if key_of(job, JOB) in successful]
    inherited = {
        key: largest(job["from_checkpoint_id"] for job in jobs)
        for key, jobs in by(heirs, "audit_id", "from_job_directory").items()
    }
    superseded_keys = set()
    for row in checkpoints:
        key = row["audit_id"], row["job_directory"]
        is_superseded = is_less(row["checkpoint_id"], last.get(key)) or is_at_most(
            row["checkpoint_id"], inherited.get(key)
        )
        if is_superseded and not row["is_savepoint"]:
            superseded_keys.add(key_of(row, CHECKPOINT))
    return superseded_keys


def restored_directories(outcomes: Rows) -> set[Key]:
    """(audit_id, directory) of snapshots that restored jobs may still need."""
    return {
        (job["audit_id"], job["restored_path"])
        for job in outcomes
        if not job["ended"] and not job["is_independent"]
    }


def checkpoint_rows(
    checkpoints: RowList, previous: Mapping[int, int], compared: Mapping[int, Row], jobs: Rows
) -> list[Row]:
    """``storage_checkpoint``. A savepoint's job is known if only one job fits its name."""
    fitting: dict[Key, set[Key]] = defaultdict(set)
    for job in jobs:
        fitting[job["audit_id"], job["job_id"][:6]].add((job["cluster"], job["job_id"]))
    rows = []
    for number, row in enumerate(checkpoints):
        name = SAVEPOINT.search(row["metadata_path"]) if row["is_savepoint"] else None
        jobs_of_name = fitting[row["audit_id"], name[1] if name else ""]
        cluster, job_id = next(iter(jobs_of_name)) if len(jobs_of_name) == 1 else ("", "")
        comparison: Row = {}
        if number in previous:
            comparison = {
                "previous_path": checkpoints[previous[number]]["metadata_path"],
                "new_files": compared[number]["new_files"] if number in compared else 0,
            }
        owner = {
            "job_id": row["job_id"] or job_id,
            "cluster": (row["cluster"] if row["claims"] == 1 else None) or cluster,
        }
        rows.append(row | comparison | owner)
    return rows
