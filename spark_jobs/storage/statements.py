"""Statements of operators: dead jobs, directories to ignore, files that are no checkpoints. A job
counts as dead only while nothing contradicts it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from spark_jobs.storage.owners import CLOCKS_APART_S, NOBODY
from spark_jobs.storage.plain import US_PER_S, Key, Row, RowList, Rows, by, is_less, largest
from spark_jobs.storage_words import DEAD_JOB, EXCLUDED, FOREIGN_FILE

ENDED = {
    "terminal": True,
    "seen": True,
    "keeps_last": False,
    "in_flight_since": None,
    "restore_unread": False,
}
"""Data of a job that was attested to be dead."""
_SIGNS_OF_LIFE = ("started_at", "restored_at", "last_completed_at", "in_flight_since", "ended_at")
_DEAD = NOBODY | {"suspects": 1, "claims": 1, "terminal": True, "seen": True, "failed": []}


class Dead(NamedTuple):
    """``since``: (audit_id, job directory) → when its job was attested dead, in µs. ``jobs``: all
    jobs; dead ones have the data ``ENDED``. ``void``: contradicted statements.
    """

    since: Mapping[Key, int]
    jobs: list[Row]
    void: list[Row]


def dead_jobs(statements: Rows, jobs: RowList, file_directories: Rows) -> Dead:
    """A statement is void if its job is seen alive or did anything later, a file in its directory
    was written or first seen later, or another job that may live writes there. If jobs of several
    clusters may have written the directory, a statement about one cluster's job ends that job, not
    the directory.
    """
    newest = by(file_directories, "audit_id", "job_directory")
    since: dict[Key, int] = {}
    void: list[Row] = []
    ended: set[int] = set()
    for statement in statements:
        if statement["kind"] != DEAD_JOB:
            continue
        stated_at = statement["stated_at"]
        directory = statement["audit_id"], statement["subject"]
        matches = [number for number, job in enumerate(jobs) if _is_subject(job, statement)]
        subjects = [jobs[number] for number in matches]
        other_writers = [
            job
            for number, job in enumerate(jobs)
            if number not in matches and _may_write(job, statement)
        ]
        is_alive = any(
            (job["seen"] and not job["terminal"])
            or is_less(stated_at, largest(job[name] for name in _SIGNS_OF_LIFE))
            for job in (*subjects, *other_writers)
        ) or any(_is_other_live_writer(job, statement) for job in jobs)
        directories = {
            directory,
            *((job["audit_id"], job["written_directory"]) for job in subjects),
        }
        rows = (row for key in directories for row in newest.get(key, ()))
        newest_file = largest(row["newest"] for row in rows)
        if is_alive or is_less(stated_at + CLOCKS_APART_S * US_PER_S, newest_file):
            void.append(statement)
            continue
        ended.update(matches)
        if statement["subject"] and not (statement["cluster"] and other_writers):
            since[directory] = stated_at
    return Dead(
        since, [job | ENDED if number in ended else job for number, job in enumerate(jobs)], void
    )


def _is_subject(job: Row, statement: Row) -> bool:
    if job["audit_id"] != statement["audit_id"]:
        return False
    if statement["cluster"]:
        return bool(job["cluster"] == statement["cluster"] and job["job_id"] == statement["job_id"])
    return bool(job["written_directory"] == statement["subject"])


def _may_write(job: Row, statement: Row) -> bool:
    """Whether the job has the id of the statement or its directory, and may write there."""
    return bool(
        job["audit_id"] == statement["audit_id"]
        and job["job_id"] in (statement["job_id"], statement["subject"].rpartition("/")[2])
        and job["written_directory"] in (None, statement["subject"])
    )


def _is_other_live_writer(job: Row, statement: Row) -> bool:
    return bool(
        job["audit_id"] == statement["audit_id"]
        and job["written_directory"] == (statement["subject"] or None) is not None
        and not job["terminal"]
        and not _is_subject(job, statement)
    )


def with_dead(owners: RowList, dead: Dead, directories: Rows) -> list[Row]:
    def is_dead(row: Row) -> bool:
        return (row["audit_id"], row["job_directory"]) in dead.since

    return [
        *(owner for owner in owners if not is_dead(owner)),
        *(directory | _DEAD for directory in directories if is_dead(directory)),
    ]


def excluded(statements: Rows) -> set[Key]:
    return {(row["audit_id"], row["subject"]) for row in statements if row["kind"] == EXCLUDED}


def acknowledged(failed: Rows, statements: Rows) -> set[Key]:
    """(audit_id, metadata_path) of acknowledged files, unchanged since."""
    names = ("audit_id", "subject", "bytes", "modified", "head_sha256")
    statement_keys = {
        tuple(row[name] for name in names) for row in statements if row["kind"] == FOREIGN_FILE
    }
    file_names = ("audit_id", "metadata_path", "metadata_bytes", "metadata_modified", "head_sha256")
    return {
        (row["audit_id"], row["metadata_path"])
        for row in failed
        if row["failure"] in ACKNOWLEDGEABLE
        and row["head_sha256"] is not None
        and tuple(row[name] for name in file_names) in statement_keys
    }


ACKNOWLEDGEABLE = ("empty_metadata", "incomplete_metadata", "no_magic_number")
"""Failures of files from which Flink itself could not restore."""
