"""Directories with files, joined with what is known of their audit, root and job."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from ingest.storage.layout import JOB_CHARS
from spark_jobs.storage.owners import JOB_DIRECTORY, NOBODY
from spark_jobs.storage.plain import US_PER_H, Key, Row, is_below, key_of

FUTURE_AFTER_H = 1
"""A file dated later than this after the listing began has a time that cannot be trusted."""


@dataclass(frozen=True)
class Known:
    owners: Iterable[Row]
    needed_jobs: set[Key]
    """(audit_id, job_id) whose task-owned files a retained snapshot may need."""
    all_needed: set[str]
    """Audits in which a snapshot lies whose job nobody can tell."""
    doubted: set[int]
    """Numbers of directories that a doubt reaches."""
    unfound: set[Key]
    """``JOB`` of those whose last checkpoint nobody found."""
    needed_by_unfound: Set[Key]
    """(audit_id, job id or job directory) that such a checkpoint may refer to."""
    lost: Set[str]
    """Job directories of ``storage_lost``."""


def judged_directories(held: Iterable[Row], roots: Sequence[Row], known: Known) -> list[Row]:
    owners: Mapping[Key, Row] = {key_of(owner, JOB_DIRECTORY): owner for owner in known.owners}
    lost_elsewhere = {
        text[-JOB_CHARS:]
        for text in known.lost
        if not any(is_below(text, root["root"]) for root in roots)
    }
    directories = []
    for number, row in enumerate(held):
        root = roots[row["root_no"]]
        audit_id, as_of = root["audit_id"], root["as_of"]
        owner = owners.get((audit_id, root["root"], row["job_directory"]), NOBODY)
        directories.append(
            row
            | owner
            | {
                "audit_id": audit_id,
                "root": root["root"],
                "as_of": as_of,
                "guarded_from": as_of - int(root["age_guard_h"]) * US_PER_H,
                "future_from": as_of + FUTURE_AFTER_H * US_PER_H,
                "any_needed": audit_id in known.all_needed,
                "in_doubt": number in known.doubted,
                "last_unfound": (audit_id, owner["cluster"], row["job_id"]) in known.unfound
                or not known.needed_by_unfound.isdisjoint(
                    {(audit_id, row["job_id"]), (audit_id, row["job_directory"])}
                ),
                "is_lost": row["job_directory"] in known.lost,
                "is_lost_elsewhere": row["job_id"] in lost_elsewhere,
                "job_needed": (audit_id, row["job_id"]) in known.needed_jobs,
            }
        )
    return directories
