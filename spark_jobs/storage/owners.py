"""Which job writes which directory, and that job's data: plain rows, bounded by jobs.

A job in storage is its directory, ``<any directory>/<job id>``: ids repeat, since jobs of
application clusters with high availability have the id 000…0 or one made of their cluster's name,
and others may be given any. A cluster's data on a job only count for directories that the cluster
is known to write.
"""

import re
from collections.abc import Iterable, Sequence, Set

import pyarrow as pa

from ingest.flink_ids import is_given
from ingest.storage.layout import QUARANTINE_SUFFIX
from spark_jobs.audit_request import JOB_SCHEMA
from spark_jobs.storage.layout_columns import METADATA_SUFFIX, placed
from spark_jobs.storage.plain import (
    US_PER_S,
    Row,
    by,
    is_below,
    key_of,
    keys,
    largest,
    smallest,
)

MOST_ENDED = 1000
"""Checkpoints of a job that tell why a file was left."""

LEFT_AFTER_S = 60
"""How long an upload may go on after its checkpoint has ended."""
CLOCKS_APART_S = 60
"""Between a JobManager and a file system."""
_FORGOTTEN = dict.fromkeys([*JOB_SCHEMA.names, "written_directory"]) | {
    "terminal": False,
    "seen": False,
}
_OF_RESTORE = ("restored_path", "restored_at", "settled", "needs")
NOBODY = {
    **dict.fromkeys(
        (
            "cluster",
            "job_name",
            "began_at",
            "went_on_at",
            "started_at",
            "redeployed_at",
            "ended_at",
            "in_flight_since",
            "last_completed_id",
            "last_completed_at",
            "failed",
        )
    ),
    "suspects": 0,
    "claims": 0,
    "shared": False,
    "terminal": False,
    "seen": False,
}
"""What is known of a directory that no job is known to write."""
JOB_DIRECTORY = ("audit_id", "root", "job_directory")
JOB = ("audit_id", "cluster", "job_id")
_QUARANTINED = re.compile(rf"{re.escape(QUARANTINE_SUFFIX)}/|/[0-9a-f]{{64}}/[0-9]+/")
SAVEPOINT = re.compile("/savepoint-([0-9a-f]{6})-[0-9a-f]{12}(?:/|$)")


def restores(jobs: Iterable[Row]) -> list[Row]:
    """Jobs that were restored from a known place. ``from_job_directory``: of the job that took the
    checkpoint; for a savepoint only ``from_prefix`` is known, the first six digits of its job's id.
    """
    restored = [job for job in jobs if job["restored_path"] is not None]
    places = placed(
        pa.array([f"{job['restored_path']}{METADATA_SUFFIX}" for job in restored], pa.string())
    )
    origins = {
        f"from_{name}": getattr(places, name).to_pylist()
        for name in ("job_id", "job_directory", "checkpoint_id")
    }
    prefixes = (SAVEPOINT.search(job["restored_path"]) for job in restored)
    origins["from_prefix"] = [named and named[1] for named in prefixes]
    return [
        job | dict(zip(origins, of_job, strict=True))
        for job, *of_job in zip(restored, *origins.values(), strict=True)
    ]


def earlier_restores(
    before: Iterable[Row], jobs: Sequence[Row], audit_ids: Iterable[str], *, settled: bool = False
) -> list[Row]:
    """Restores known to earlier audits (``carried.RESTORES``) that no job row has any more, in the
    form of :func:`restores`. An unreported job may run.
    """
    before = [restore for restore in before if bool(restore["settled"]) == settled]
    known = {key_of(job, JOB): job for job in jobs}
    rows = []
    for audit_id in audit_ids:
        for restore in before:
            job = known.get((audit_id, restore["cluster"], restore["job_id"]))
            if job is None:
                rows.append(_FORGOTTEN | {"audit_id": audit_id, "forgotten": True} | restore)
            elif job["restored_path"] != restore["restored_path"]:
                rows.append(job | {name: restore[name] for name in _OF_RESTORE})
    return restores(rows)


def directories(held: Iterable[Row], snapshots: Iterable[Row]) -> list[Row]:
    names = (*JOB_DIRECTORY, "job_id")
    read = (snapshot for snapshot in snapshots if snapshot["place"] == "metadata")
    directory_keys = keys(
        (row for rows in (held, read) for row in rows if row["job_directory"] is not None), *names
    )
    return [dict(zip(names, key, strict=True)) for key in sorted(directory_keys)]


def writers(jobs: Iterable[Row], directories: Sequence[Row], roots: Iterable[Row]) -> list[Row]:
    """Each directory with each job that ``writes`` it, or may do so.

    A job writes a directory if its last checkpoint was reported there, by its cluster as it is now
    (not ``recorded``). If it never reported any, the registration may tell: the root is registered
    for one cluster, and has one directory of that id. A job of that id and an allowed cluster
    without a known directory may write to any of them.
    """
    of_this_id = by(directories, "audit_id", "root", "job_id")
    clusters_of = {key_of(root, ("audit_id", "root")): root["clusters"] or [] for root in roots}
    of_jobs = by(jobs, "audit_id", "job_id")
    rows_written = []
    for directory in directories:
        if _QUARANTINED.search(directory["job_directory"]):
            continue  # of another Weir, or of a root within this one
        clusters = clusters_of[key_of(directory, ("audit_id", "root"))]
        alone = len(of_this_id[key_of(directory, ("audit_id", "root", "job_id"))]) == 1
        for job in of_jobs.get((directory["audit_id"], directory["job_id"]), ()):
            allowed = not clusters or job["cluster"] in clusters
            reported = job["written_directory"] == directory["job_directory"]
            unreported = job["written_directory"] is None
            for_one = len(clusters) == 1 and allowed
            declared = for_one and alone and unreported
            # Another, forgotten application of this id may have written there.
            is_distinguished = for_one or not is_given(job["job_id"])
            if reported or declared or (allowed and unreported):
                rows_written.append(
                    job
                    | directory
                    | {
                        "writes": not job["recorded"]
                        and ((reported and allowed and is_distinguished) or declared)
                    }
                )
    return rows_written


def owners(writers: Iterable[Row], shared: Set[str], remembered: Iterable[Row] = ()) -> list[Row]:
    """Per job directory: the number of clusters with ``claims`` to it, and the job's data. If two
    clusters may write it, the values that keep most count.

    ``claims`` is 0 if no job is known to write it; ``suspects`` are those that may, with one that
    nobody remembers where there was any (``shared``). ``cluster`` and ``job_name`` are null unless
    there is one claim. ``began_at``: the start of a run that did not continue from this directory,
    now or in an earlier audit (``remembered``): older files are of forgotten runs. ``failed`` are
    checkpoints that provably never completed.
    """
    owner_rows = []
    known_before = {row["job_directory"]: row for row in remembered}
    for key, of in by(writers, *JOB_DIRECTORY, "job_id").items():
        place = dict(zip((*JOB_DIRECTORY, "job_id"), key, strict=True))
        # A job known under the names of two clusters began once.
        began = {job["started_at"] or job["cluster"] for job in of}
        is_shared = place["job_directory"] in shared or len(began) > 1
        suspects = max(len({job["cluster"] for job in of}), 1 + is_shared)
        claims = suspects if any(job["writes"] for job in of) else 0
        owner_rows.append(
            {
                **place,
                "suspects": suspects,
                "shared": is_shared,
                "claims": claims,
                "cluster": largest(job["cluster"] for job in of) if claims == 1 else None,
                "job_name": largest(job["name"] for job in of) if claims == 1 else None,
                **_beginning(of, known_before.get(place["job_directory"], {})),
                "started_at": largest(job["started_at"] for job in of),
                "redeployed_at": of[0]["redeployed_at"] if len(of) == 1 else None,
                "ended_at": largest(job["ended_at"] for job in of),
                "terminal": all(job["terminal"] for job in of),
                "seen": all(job["seen"] for job in of),
                **{
                    name: smallest(job[name] for job in of)
                    for name in ("in_flight_since", "last_completed_id", "last_completed_at")
                },
                "failed": _failed_checkpoints(
                    [end for job in of for end in job["checkpoints_ended"] or ()]
                ),
            }
        )
    return owner_rows


def _beginning(of: Iterable[Row], known_before: Row) -> Row:
    """``began_at`` and ``went_on_at``, the start of a run that was restored from this directory at
    its start, now or in an earlier audit. If it was restored later, its beginning is unknown.
    """
    went_on = {
        known_before.get("went_on_at"),
        *(job["started_at"] for job in of if _goes_on(job)),
    }
    began = {known_before.get("began_at"), *(job["started_at"] for job in of)} - went_on
    return {"began_at": largest(began), "went_on_at": largest(went_on)}


def _goes_on(job: Row) -> bool:
    restored_at, started_at = job["restored_at"], job["started_at"]
    at_start = (
        None in (started_at, restored_at)
        or abs(restored_at - started_at) <= CLOCKS_APART_S * US_PER_S
    )
    return at_start and is_below(job["restored_path"], job["job_directory"])


def _failed_checkpoints(ended: Iterable[Row]) -> list[Row]:
    """Checkpoints that never completed, if no other checkpoint of that number did."""
    ended = list(ended)
    completed = {end["checkpoint_id"] for end in ended if end["completed"] is not False}
    if None in completed:
        return []
    never = (end for end in ended if end["completed"] is False and end["checkpoint_id"] is not None)
    return [end for end in never if end["checkpoint_id"] not in completed][:MOST_ENDED]


def sole_writers(owners: Iterable[Row]) -> list[Row]:
    return [owner for owner in owners if owner["claims"] == 1]


def is_of_time(modified: int | None, end: Row, before_s: int = 0) -> bool:
    """Whether a file may have been written for a checkpoint, by its trigger and end."""
    if modified is None or end["triggered_at"] is None:
        return False
    until = end["triggered_at"] if end["ended_at"] is None else end["ended_at"]
    return bool(
        end["triggered_at"] - before_s * US_PER_S <= modified <= until + LEFT_AFTER_S * US_PER_S
    )


def may_run(jobs: Iterable[Row]) -> list[Row]:
    return [job for job in jobs if not (job["terminal"] and job["seen"])]


def root_around(audit_id: str, path: str | None, roots: Iterable[Row]) -> str | None:
    """The audited root that a path lies below."""
    around = (root for root in roots if root["audit_id"] == audit_id)
    return next((root["root"] for root in around if is_below(path, root["root"])), None)


def is_whole_but_links(root: Row) -> bool:
    """Whether its listing has every file that lies below none of ``root["links"]``."""
    return bool(root["unlisted"] == len(root["links"]))


def is_surely_listed(path: str, root: Row) -> bool:
    """Whether the listing of the root would have this path, were it there."""
    return (
        is_below(path, root["root"])
        and is_whole_but_links(root)
        and not any(path == link or is_below(path, link) for link in root["links"])
    )
