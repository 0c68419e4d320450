"""Retained checkpoints and savepoints: their files, whether they can be restored, whether any job
may restore them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
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


def with_figures(snapshots: Iterable[Row], figures: Mapping[int, Row]) -> list[Row]:
    """Adds the sums of their references (by number); ``resolvable`` is null if unknown."""
    nothing = dict.fromkeys(FIGURES, 0)
    rows_with_figures = []
    for number, snapshot in enumerate(snapshots):
        sums = figures.get(number, nothing)
        is_covered = sums["uncovered_files"] == 0 and snapshot["unplaced"] == 0
        rows_with_figures.append(
            snapshot
            | sums
            | {
                "self_contained": sums["foreign_files"] == 0 and snapshot["unplaced"] == 0,
                "resolvable": False if sums["missing_files"] > 0 else is_covered or None,
            }
        )
    return rows_with_figures


def written_at(metadata: Iterable[Row]) -> dict[Key, int]:
    """Listed ``_metadata`` → the time from which its age counts; far ahead if unknown."""
    written: dict[Key, int] = {}
    for row in metadata:
        key = row["audit_id"], row["path"]
        age_from = NEVER if row["modified"] is None else max(row["modified"], row["first_seen_at"])
        written[key] = max(written.get(key, age_from), age_from)
    return written


def owned(checkpoints: Iterable[Row], owners: Iterable[Row]) -> list[Row]:
    """Adds what ``owners`` know of the job whose directory the checkpoint is in."""
    known = {key_of(owner, JOB_DIRECTORY): owner for owner in owners}
    return [NOBODY | known.get(key_of(row, JOB_DIRECTORY), {}) | row for row in checkpoints]


def judged(
    checkpoints: Sequence[Row],
    weaned: Iterable[Row],
    roots: Iterable[Row],
    written_at: Mapping[Key, int],
    dead: Mapping[Key, int],
    copied: Set[Key],
) -> list[Row]:
    """Adds ``verdict``, ``is_attested`` and ``successor_job_id``. ``checkpoints`` are
    :func:`owned`; ``dead``: (audit_id, directory) of jobs attested to be dead → since when;
    ``copied``: those with the same content as another one, which may be the same file.

    Waste: its job was seen in a terminal state, and another job restored from it, or from a later
    checkpoint of that job, has since completed a checkpoint that is whole and its own. While any
    job that may run was restored from that job and has not, none of it is waste. A dead job needs
    no successor. Savepoints are never waste.
    """
    of_origin = by(weaned, "audit_id", "from_job_directory")
    # Restored from a directory that was not read: it may be another name of this one.
    read = keys(checkpoints, "audit_id", "job_directory")
    by_other_name = by(
        (
            heir
            for heir in weaned
            if (heir["audit_id"], heir["from_job_directory"]) not in read and not heir["weaned"]
        ),
        "audit_id",
        "from_job_id",
    )
    root_of = {key_of(root, ("audit_id", "root")): root for root in roots}
    judgements = []
    for row in checkpoints:
        heirs = [
            *of_origin.get((row["audit_id"], row["job_directory"]), ()),
            *by_other_name.get((row["audit_id"], row["job_id"]), ()),
        ]
        # A job restored from its own checkpoint is no successor of itself.
        succeeded = [heir for heir in heirs if heir["weaned"] and not heir["is_own"]]
        age_from = written_at.get(key_of(row, CHECKPOINT))
        dead_since = dead.get((row["audit_id"], row["job_directory"]))
        is_waste = key_of(row, CHECKPOINT) not in copied and _is_waste(
            row, heirs, succeeded, root_of[row["audit_id"], row["root"]], age_from, dead_since
        )
        successor = largest(heir["job_id"] for heir in succeeded) if is_waste else None
        judgements.append(
            row
            | {
                "verdict": RETAINED_WASTE if is_waste else LIVE,
                "is_attested": is_waste and dead_since is not None,
                "successor_job_id": successor,
            }
        )
    return judgements


def with_namers(judged: Iterable[Row], namers: Sequence[Row]) -> list[Row]:
    """A checkpoint stays whole as long as a file that it refers to is kept: only its ``_metadata``
    tells what that file is. ``namers``: ``verdicts.NAMERS``.
    """
    goes, stays = (
        {row["checkpoint_no"] for row in namers if row["goes"] == which} for which in (True, False)
    )
    return [
        row | {"verdict": LIVE, "is_attested": False, "successor_job_id": None}
        if number in goes & stays
        else row
        for number, row in enumerate(judged)
    ]


def _is_waste(
    row: Row,
    heirs: Iterable[Row],
    succeeded: Sequence[Row],
    root: Row,
    age_from: int | None,
    dead_since: int | None,
) -> bool:
    guard = root["as_of"] - int(root["age_guard_h"]) * US_PER_H
    needed_still = any(not heir["weaned"] and not heir["ended"] for heir in heirs)
    return bool(
        not row["is_savepoint"]
        and row["place"] == "metadata"
        and row["claims"] == 1
        and row["terminal"]
        and row["seen"]
        and not needed_still
        # Of a job that began if nobody sees, nobody knows what it was restored from.
        and not root["any_unreachable"]
        and (
            is_at_most(age_from, dead_since)
            if dead_since is not None
            else _is_succeeded(row, succeeded, root, guard)
        )
        # Its files may only be deleted if its own file may.
        and is_at_most(age_from, guard)
        and is_less(age_from, row["in_flight_since"], unknown=True)
    )


def _is_succeeded(row: Row, succeeded: Sequence[Row], root: Row, guard: int) -> bool:
    return bool(
        # A checkpoint of another run under the same id is not the one that this run's successor
        # took over.
        is_at_most(row["started_at"], row["modified"], unknown=not is_given(row["job_id"]))
        and is_at_most(row["modified"], _with_clocks_apart(row["last_completed_at"]))
        # If several clusters write there, only the last one is known to be of this job: others may
        # have its id.
        and (
            len(root["clusters"] or ()) == 1
            or is_at_most(row["last_completed_id"], row["checkpoint_id"])
        )
        and any(_has_left_behind(heir, row, guard) for heir in succeeded)
    )


def _with_clocks_apart(at: int | None) -> int | None:
    return None if at is None else at + CLOCKS_APART_S * US_PER_S


def _has_left_behind(heir: Row, row: Row, guard: int) -> bool:
    """Whether this heir alone proves it: heirs of two different runs say nothing about checkpoints
    between these.
    """
    left_up_to, left_at = heir["from_checkpoint_id"], heir["restored_at"]
    return (
        is_at_most(row["checkpoint_id"], left_up_to)
        # A later checkpoint than the job is known to have completed is of an unknown writer.
        and is_at_most(left_up_to, row["last_completed_id"])
        # A job that starts again under its id counts from 1 again: these are not the same ones.
        and is_at_most(row["modified"], left_at)
        # A job that continued after the other was restored was copied, not succeeded; its last
        # checkpoint may not be listed yet.
        and is_at_most(row["last_completed_at"], smallest((left_at, guard)), unknown=True)
    )


def _own_checkpoints(checkpoints: Iterable[Row]) -> dict[Key, list[Row]]:
    return by((row for row in checkpoints if not row["is_savepoint"] and row["claims"] == 1), *JOB)


def weaned_restores(
    checkpoints: Iterable[Row],
    restores: Iterable[Row],
    sole: Sequence[Row],
    remembered: Iterable[Row],
) -> list[Row]:
    """Restores with what became of the job since, by its own checkpoints that were read.

    ``weaned``: it has completed a checkpoint that is whole and its own, and no longer reads what it
    was restored from. ``ended``: it cannot run, and its last checkpoint was read, or is known to be
    gone: one that was not found may refer to what the job was restored from. ``is_own``: restored
    from a directory it writes itself. ``has_whole``: it has a whole checkpoint, of whatever time,
    also one that nobody reports any more (``forgotten``). ``left_nothing``: Flink deleted its last
    checkpoint, another job took it over, or there was none.
    """
    own = _own_checkpoints(checkpoints)
    homes = keys(sole, *JOB, "job_directory")
    written = by((row for row in checkpoints if not row["is_savepoint"]), "audit_id", "job_id")
    weaned = []
    for job in restores:
        of_job = own.get(key_of(job, JOB), [])
        whole = [
            row for row in of_job if row["seen"] and row["self_contained"] and row["resolvable"]
        ]
        if job.get("forgotten"):
            of_its_id = written.get((job["audit_id"], job["job_id"]), ())
            whole = [row for row in of_its_id if _is_whole_of_forgotten(row, job)]
        reads_on = job["recorded"] or (job["reads_restored"] and not job["terminal"])
        weaned.append(
            job
            | {
                "weaned": bool(job["seen"] and not reads_on)
                and any(_is_since_restore(row, job) for row in whole),
                "has_whole": bool(whole),
                "is_own": (*key_of(job, JOB), job["from_job_directory"]) in homes,
            }
        )
    left = _Left.of(weaned, sole, remembered)
    return [
        job
        | {
            "ended": bool(job["terminal"] and job["seen"] and not job["recorded"])
            and _is_accounted(job, own.get(key_of(job, JOB), ()), left),
            "left_nothing": job["keeps_last"] is False
            or job["last_completed_id"] is None
            or is_at_most(job["last_completed_id"], left.up_to.get(key_of(job, JOB))),
        }
        for job in weaned
    ]


def _is_whole_of_forgotten(row: Row, job: Row) -> bool:
    """Other jobs may have an id that was given: its own is what lies where the job wrote and nobody
    known claims.
    """
    is_its_own = not is_given(job["job_id"]) or (
        row["job_directory"] == job["written_directory"] and not row["claims"]
    )
    return bool(is_its_own and row["self_contained"] and row["resolvable"])


def last_unfound(
    checkpoints: Iterable[Row],
    weaned: Iterable[Row],
    jobs: Iterable[Row],
    sole: Sequence[Row],
    remembered: Iterable[Row],
) -> set[Key]:
    """``JOB`` of those that ended and whose last checkpoint is nowhere to be found: somebody may
    have moved it, and its files may be in the job's directory. ``checkpoints`` are :func:`owned`.
    """
    own = _own_checkpoints(checkpoints)
    left = _Left.of(weaned, sole, remembered)
    ended = (
        job
        for job in jobs
        if job["terminal"] and (job["last_completed_id"] is not None or job["completed_unread"])
    )
    return {
        key_of(job, JOB)
        for job in ended
        if not _is_accounted(job, own.get(key_of(job, JOB), ()), left)
    }


@dataclass(frozen=True)
class _Left:
    """``up_to``: ``JOB`` → its last checkpoint that another job took over: who claims one deletes
    it in the end, and then needs it no more. ``read``: ``JOB`` → the newest checkpoints that audits
    read (``carried.REMEMBERED``): what they referred to is known and kept.
    """

    up_to: Mapping[Key, int | None]
    read: Mapping[Key, Sequence[Row]]

    @classmethod
    def of(cls, weaned: Iterable[Row], sole: Iterable[Row], remembered: Iterable[Row]) -> "_Left":
        succeeded = by(
            (job for job in weaned if job["weaned"] and not job["is_own"]),
            "audit_id",
            "from_job_directory",
        )
        read_in = by(remembered, "job_directory")
        taken: dict[Key, list[int | None]] = defaultdict(list)
        read: dict[Key, list[Row]] = defaultdict(list)
        for home in sole:
            heirs = succeeded.get((home["audit_id"], home["job_directory"]), ())
            taken[key_of(home, JOB)] += [heir["from_checkpoint_id"] for heir in heirs]
            read[key_of(home, JOB)] += read_in.get((home["job_directory"],), ())
        return cls({job: largest(numbers) for job, numbers in taken.items()}, read)


def _is_since_restore(row: Row, job: Row) -> bool:
    """A restored job continues its numbers: a lower number is of another writer. Until the job
    completes one, what is there is of the run before, by another clock. What was written after a
    job that ended had completed its last one is of somebody else. A run that began after the
    restore, under the same id, may have begun with nothing.
    """
    is_of_run = is_at_most(job["started_at"], _with_clocks_apart(job["restored_at"]), unknown=True)
    counts_on = is_less(job["from_checkpoint_id"], row["checkpoint_id"], unknown=True)
    has_completed = is_less(job["restored_at"], job["last_completed_at"])
    is_of_job = not job["terminal"] or is_at_most(
        row["modified"], _with_clocks_apart(job["last_completed_at"])
    )
    is_since = is_less(job["restored_at"], row["modified"])
    return bool(is_of_run and counts_on and has_completed and is_of_job and is_since)


def _is_accounted(job: Row, own: Iterable[Row], left: _Left) -> bool:
    """Whether the last checkpoint of a job was read, or is known to be gone. Numbers repeat where
    applications start again under the id that all have.
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
    # A JobManager that takes over starts a job again, which need not complete a checkpoint before it
    # ends.
    since = smallest((job["started_at"], last_at - CLOCKS_APART_S * US_PER_S))

    def has_last(rows: Iterable[Row]) -> bool:
        return any(
            is_at_most(last_id, row["checkpoint_id"]) and not is_less(row["modified"], since)
            for row in rows
        )

    was_taken_over = is_at_most(last_id, left.up_to.get(key_of(job, JOB)))
    return has_last(own) or (was_taken_over and has_last(left.read.get(key_of(job, JOB), ())))


def previous_of(snapshots: Sequence[Row]) -> dict[int, int]:
    """Number of a checkpoint → that of the one before it of the same job, without savepoints."""
    in_job: dict[Key, list[int]] = {}
    for number, row in enumerate(snapshots):
        if not row["is_savepoint"] and row["job_directory"] is not None:
            in_job.setdefault((row["audit_id"], row["job_directory"]), []).append(number)

    def order(number: int) -> tuple[int, str]:
        row = snapshots[number]
        return -1 if row["checkpoint_id"] is None else row["checkpoint_id"], row["metadata_path"]

    ordered = [sorted(of, key=order) for of in in_job.values()]
    return {after: before for of in ordered for before, after in pairwise(of)}


def superseded(checkpoints: Sequence[Row], restores: Iterable[Row]) -> set[Key]:
    """Checkpoints with a whole later one of the same job, or of a job restored from it."""
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
        later = is_less(row["checkpoint_id"], last.get(key)) or is_at_most(
            row["checkpoint_id"], inherited.get(key)
        )
        if later and not row["is_savepoint"]:
            superseded_keys.add(key_of(row, CHECKPOINT))
    return superseded_keys


def restored_directories(weaned: Iterable[Row]) -> set[Key]:
    """(audit_id, directory) that jobs which may run were restored from and not weaned from."""
    return {
        (job["audit_id"], job["restored_path"])
        for job in weaned
        if not job["ended"] and not job["weaned"]
    }


def checkpoint_rows(
    checkpoints: Sequence[Row],
    previous: Mapping[int, int],
    compared: Mapping[int, Row],
    jobs: Iterable[Row],
) -> list[Row]:
    """``storage_checkpoint``. The job of a savepoint is known if the six digits in its name fit one
    job only.
    """
    fitting: dict[Key, set[Key]] = defaultdict(set)
    for job in jobs:
        fitting[job["audit_id"], job["job_id"][:6]].add((job["cluster"], job["job_id"]))
    rows = []
    for number, row in enumerate(checkpoints):
        named = SAVEPOINT.search(row["metadata_path"]) if row["is_savepoint"] else None
        fits = fitting[row["audit_id"], named[1] if named else ""]
        cluster, job_id = next(iter(fits)) if len(fits) == 1 else ("", "")
        against: Row = {}
        if number in previous:
            against = {
                "previous_path": checkpoints[previous[number]]["metadata_path"],
                "new_files": compared[number]["new_files"] if number in compared else 0,
            }
        of_job = {
            "job_id": row["job_id"] or job_id,
            "cluster": (row["cluster"] if row["claims"] == 1 else None) or cluster,
        }
        rows.append(row | against | of_job)
    return rows
