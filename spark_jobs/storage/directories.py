"""Directories with files, and what verdicts need of their root and job."""

from collections.abc import Mapping, Set

from ingest.storage.layout import JOB_CHARS
from spark_jobs.storage.owners import JOB_DIRECTORY, NOBODY
from spark_jobs.storage.plain import US_PER_H, Key, Row, RowList, Rows, is_below, key_of

FUTURE_AFTER_H = 1
"""A file dated more than this after the listing began has a wrong time."""


def directory_rows(
    file_directories: Rows,
    roots: RowList,
    owners: Rows,
    *,
    needed_jobs: set[Key],
    all_needed: set[str],
    doubted: set[int],
    unfound: set[Key],
    needed_by_unfound: Set[Key],
    lost: Set[str],
) -> list[Row]:
    """``needed_jobs``: (audit_id, job_id) of jobs whose task-owned files a retained snapshot may
    need. ``all_needed``: audits in which those of any job may be needed. ``doubted``: numbers of
    directories that a doubt reaches. ``unfound``: ``JOB`` keys of jobs whose last checkpoint was
    not found; it may refer to ``needed_by_unfound``, (audit_id, job id or job directory).
    ``lost``: job directories of ``storage_lost``.
    """
    owner_of: Mapping[Key, Row] = {key_of(owner, JOB_DIRECTORY): owner for owner in owners}
    lost_elsewhere = {
        directory[-JOB_CHARS:]
        for directory in lost
        if not any(is_below(directory, root["root"]) for root in roots)
    }
    directories = []
    for number, row in enumerate(file_directories):
        root = roots[row["root_no"]]
        audit_id, as_of = root["audit_id"], root["as_of"]
        owner = owner_of.get((audit_id, root["root"], row["job_directory"]), NOBODY)
        directories.append(
            row
            | owner
            | {
                "audit_id": audit_id,
                "root": root["root"],
                "as_of": as_of,
                "guarded_from": as_of - int(root["age_guard_h"]) * US_PER_H,
                "future_from": as_of + FUTURE_AFTER_H * US_PER_H,
                "any_needed": audit_id in all_needed,
                "in_doubt": number in doubted,
                "last_unfound": (audit_id, owner["cluster"], row["job_id"]) in unfound
                or not needed_by_unfound.isdisjoint(
                    {(audit_id, row["job_id"]), (audit_id, row["job_directory"])}
                ),
                "is_lost": row["job_directory"] in lost,
                "is_lost_elsewhere": row["job_id"] in lost_elsewhere,
                "job_needed": (audit_id, row["job_id"]) in needed_jobs,
            }
        )
    return directories
