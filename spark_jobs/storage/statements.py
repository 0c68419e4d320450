"""Statements of operators: dead jobs, directories to ignore, files that are no checkpoints. A
statement counts only while nothing contradicts it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from spark_jobs.storage.owners import CLOCKS_APART_S, NOBODY
from spark_jobs.storage.plain import US_PER_S, Key, Row, by, is_less, largest
from spark_jobs.storage_words import DEAD_JOB, EXCLUDED, FOREIGN_FILE

ENDED = {
    "terminal": True,
    "seen": True,
    "keeps_last": False,
    "in_flight_since": None,
    "restore_unread": False,
}
"""What an attestation says of a job that no cluster reports any more."""
_DEEDS = ("started_at", "restored_at", "last_completed_at", "in_flight_since", "ended_at")
_DEAD = NOBODY | {"suspects": 1, "claims": 1, "terminal": True, "seen": True, "failed": []}


class Dead(NamedTuple):
    """``since``: (audit_id, job directory) → when it was attested to be dead, in µs. ``jobs``: all
    of them, with what was attested. ``void``: statements that something contradicts.
    """

    since: Mapping[Key, int]
    jobs: list[Row]
    void: list[Row]


def dead_jobs(statements: Iterable[Row], jobs: Sequence[Row], held: Iterable[Row]) -> Dead:
    """One is void as soon as its job is seen alive or known to have done anything later, its
    directory holds anything that was written, or first seen, after it was made, or another job that
    may live writes there.

    One about the job of a cluster ends that job alone where the job of another cluster wrote, or
    may have written, to the same directory.
    """
    newest = by(held, "audit_id", "job_directory")
    since: dict[Key, int] = {}
    void: list[Row] = []
    ended: set[int] = set()
    for statement in statements:
        if statement["kind"] != DEAD_JOB:
            continue
        at = statement["stated_at"]
        place = statement["audit_id"], statement["subject"]
        matched = [number for number, job in enumerate(jobs) if _is_of(job, statement)]
        of_job = [jobs[number] for number in matched]
        may_write = [
            job
            for number, job in enumerate(jobs)
            if number not in matched and _may_write(job, statement)
        ]
        is_alive = any(
            (job["seen"] and not job["terminal"])
            or is_less(at, largest(job[name] for name in _DEEDS))
            for job in (*of_job, *may_write)
        ) or any(_is_of_another(job, statement) for job in jobs)
        places = {place, *((job["audit_id"], job["written_directory"]) for job in of_job)}
        written = largest(row["newest"] for of in places for row in newest.get(of, ()))
        if is_alive or is_less(at + CLOCKS_APART_S * US_PER_S, written):
            void.append(statement)
            continue
        ended.update(matched)
        if statement["subject"] and not (statement["cluster"] and may_write):
            since[place] = at
    return Dead(
        since, [job | ENDED if number in ended else job for number, job in enumerate(jobs)], void
    )


def _is_of(job: Row, statement: Row) -> bool:
    if job["audit_id"] != statement["audit_id"]:
        return False
    if statement["cluster"]:
        return bool(job["cluster"] == statement["cluster"] and job["job_id"] == statement["job_id"])
    return bool(job["written_directory"] == statement["subject"])


def _may_write(job: Row, statement: Row) -> bool:
    """It has that id, or the directory's, and writes there or in an unknown place."""
    return bool(
        job["audit_id"] == statement["audit_id"]
        and job["job_id"] in (statement["job_id"], statement["subject"].rpartition("/")[2])
        and job["written_directory"] in (None, statement["subject"])
    )


def _is_of_another(job: Row, statement: Row) -> bool:
    """Writes to its directory, has not ended, and is not the job that was attested to be dead."""
    return bool(
        job["audit_id"] == statement["audit_id"]
        and job["written_directory"] == (statement["subject"] or None) is not None
        and not job["terminal"]
        and not _is_of(job, statement)
    )


def with_dead(owners: Sequence[Row], dead: Dead, directories: Iterable[Row]) -> list[Row]:
    others = [
        owner for owner in owners if (owner["audit_id"], owner["job_directory"]) not in dead.since
    ]
    return [
        *others,
        *(
            directory | _DEAD
            for directory in directories
            if (directory["audit_id"], directory["job_directory"]) in dead.since
        ),
    ]


def excluded(statements: Iterable[Row]) -> set[Key]:
    """(audit_id, directory)"""
    return {(row["audit_id"], row["subject"]) for row in statements if row["kind"] == EXCLUDED}


def acknowledged(failed: Iterable[Row], statements: Iterable[Row]) -> set[Key]:
    """(audit_id, metadata_path) of files that are as they were when somebody looked at them."""
    names = ("audit_id", "subject", "bytes", "modified", "head_sha256")
    known = {
        tuple(row[name] for name in names) for row in statements if row["kind"] == FOREIGN_FILE
    }
    of = ("audit_id", "metadata_path", "metadata_bytes", "metadata_modified", "head_sha256")
    return {
        (row["audit_id"], row["metadata_path"])
        for row in failed
        if row["failure"] in ACKNOWLEDGEABLE
        and row["head_sha256"] is not None
        and tuple(row[name] for name in of) in known
    }


ACKNOWLEDGEABLE = ("empty_metadata", "incomplete_metadata", "no_magic_number")
"""What Flink itself could not restore from."""
