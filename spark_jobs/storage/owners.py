"""Which job writes which directory, and the data of that job. In storage, ``<any directory>/<job
id>`` identifies a job, since ids repeat: with high availability, jobs of application clusters have
the id 000…0 or one made of the cluster's name, and any job may be given an id. What a cluster
reports on a job counts only for directories that the cluster is known to write.
"""

import re
from collections.abc import Iterable, Set

import pyarrow as pa

from ingest.flink_ids import is_given
from ingest.storage.layout import QUARANTINE_SUFFIX
from spark_jobs.audit_request import JOB_SCHEMA
from spark_jobs.storage.layout_columns import METADATA_SUFFIX, placed
from spark_jobs.storage.plain import (
    US_PER_S,
    Row,
    RowList,
    Rows,
    by,
    is_below,
    key_of,
    keys,
    largest,
    smallest,
)

MOST_ENDED = 1000
"""Failed checkpoints of a directory that are kept to explain its files."""

LEFT_AFTER_S = 60
"""An upload may continue this long after its checkpoint has ended."""
CLOCKS_APART_S = 60
"""The clocks of a JobManager and of a file system may differ by this much."""
_FORGOTTEN = dict.fromkeys([*JOB_SCHEMA.names, "written_directory"]) | {
    "terminal": False,
    "seen": False,
}
_RESTORE_COLUMNS = ("restored_path", "restored_at", "settled", "needs")
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
"""The data of ``owners`` for a directory without a known job."""
JOB_DIRECTORY = ("audit_id", "root", "job_directory")
JOB = ("audit_id", "cluster", "job_id")
_QUARANTINED = re.compile(rf"{re.escape(QUARANTINE_SUFFIX)}/|/[0-9a-f]{{64}}/[0-9]+/")
SAVEPOINT = re.compile("/savepoint-([0-9a-f]{6})-[0-9a-f]{12}(?:/|$)")


def restores(jobs: Rows) -> list[Row]:
    """Jobs restored from a known path, with the origin in ``from_…``. ``from_job_directory``: of
    the job that took the checkpoint. Of a savepoint only ``from_prefix`` is known: the first six
    digits of its job's id.
    """
    restored = [job for job in jobs if job["restored_path"] is not None]
    places = placed(
        pa.array([f"{job['restored_path']}{METADATA_SUFFIX}" for job in restored], pa.string())
    )
    origins = {
        f"from_{name}": getattr(places, name).to_pylist()
        for name in ("job_id", "job_directory", "checkpoint_id")
    }
    matches = (SAVEPOINT.search(job["restored_path"]) for job in restored)
    origins["from_prefix"] = [match and match[1] for match in matches]
    return [
        job | dict(zip(origins, of_job, strict=True))
        for job, *of_job in zip(restored, *origins.values(), strict=True)
    ]


def earlier_restores(
    before: Rows, jobs: RowList, audit_ids: Iterable[str], *, settled: bool = False
) -> list[Row]:
    """Restores of earlier audits (``previous_audit.RESTORES``) that no job row has now, in the form
    of ``restores``. Unreported jobs count as such that may run.
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
                rows.append(job | {name: restore[name] for name in _RESTORE_COLUMNS})
    return restores(rows)


def job_directories(file_directories: Rows, snapshots: Rows) -> list[Row]:
    names = (*JOB_DIRECTORY, "job_id")
    read = (snapshot for snapshot in snapshots if snapshot["place"] == "metadata")
    rows = (row for row in (*file_directories, *read) if row["job_directory"] is not None)
    return [dict(zip(names, key, strict=True)) for key in sorted(keys(rows, *names))]


def writers(jobs: Rows, directories: RowList, roots: Rows) -> list[Row]:
    """A row for each directory and each job that writes it (``writes``) or may. A job writes a
    directory if its running cluster (not a recording) reported its last checkpoint there or,
    without a report, if the root is registered for only this cluster and has only one directory of
    the job's id. Without a report it may write any directory of its id in roots that allow its
    cluster.
    """
    same_id = by(directories, "audit_id", "root", "job_id")
    clusters_of = {key_of(root, ("audit_id", "root")): root["clusters"] or [] for root in roots}
    jobs_by_id = by(jobs, "audit_id", "job_id")
    writer_rows = []
    for directory in directories:
        if _QUARANTINED.search(directory["job_directory"]):
            continue  # the quarantine of another Weir, or of a root below this one
        clusters = clusters_of[key_of(directory, ("audit_id", "root"))]
        is_only_one = len(same_id[key_of(directory, ("audit_id", "root", "job_id"))]) == 1
        for job in jobs_by_id.get((directory["audit_id"], directory["job_id"]), ()):
            is_allowed = not clusters or job["cluster"] in clusters
            is_reported = job["written_directory"] == directory["job_directory"]
            is_unreported = job["written_directory"] is None
            is_only_cluster = len(clusters) == 1 and is_allowed
            is_declared = is_only_cluster and is_only_one and is_unreported
            # Another, forgotten application of this id may have written there.
            is_distinguished = is_only_cluster or not is_given(job["job_id"])
            is_known = is_declared or (is_reported and is_allowed and is_distinguished)
            if is_reported or (is_allowed and is_unreported):
                writer_rows.append(job | directory | {"writes": not job["recorded"] and is_known})
    return writer_rows


def owners(writers: Rows, shared: Set[str], remembered: Rows = ()) -> list[Row]:
    """A row for each job directory with the data of its job. If several clusters may write it, the
    values count that keep most files. ``suspects``: how many may write it; in ``shared``, one more
    that is forgotten. ``claims``: the same, or 0 if no job is known to write it. ``cluster``,
    ``job_name``: null unless there is one claim. ``began_at``: the start of a run that did not
    continue from here, now or in an earlier audit (``remembered``): older files are of forgotten
    runs. ``failed``: checkpoints that provably never completed.
    """
    owner_rows = []
    remembered_of = {row["job_directory"]: row for row in remembered}
    for key, jobs in by(writers, *JOB_DIRECTORY, "job_id").items():
        place = dict(zip((*JOB_DIRECTORY, "job_id"), key, strict=True))
        # A job that is known under the names of two clusters began once.
        beginnings = {job["started_at"] or job["cluster"] for job in jobs}
        is_shared = place["job_directory"] in shared or len(beginnings) > 1
        suspects = max(len({job["cluster"] for job in jobs}), 1 + is_shared)
        claims = suspects if any(job["writes"] for job in jobs) else 0
        owner_rows.append(
            {
                **place,
                "suspects": suspects,
                "shared": is_shared,
                "claims": claims,
                "cluster": largest(job["cluster"] for job in jobs) if claims == 1 else None,
                "job_name": largest(job["name"] for job in jobs) if claims == 1 else None,
                **_beginning(jobs, remembered_of.get(place["job_directory"], {})),
                "started_at": largest(job["started_at"] for job in jobs),
                "redeployed_at": jobs[0]["redeployed_at"] if len(jobs) == 1 else None,
                "ended_at": largest(job["ended_at"] for job in jobs),
                "terminal": all(job["terminal"] for job in jobs),
                "seen": all(job["seen"] for job in jobs),
                **{
                    name: smallest(job[name] for job in jobs)
                    for name in ("in_flight_since", "last_completed_id", "last_completed_at")
                },
                "failed": _failed_checkpoints(
                    [end for job in jobs for end in job["checkpoints_ended"] or ()]
                ),
            }
        )
    return owner_rows


def _beginning(jobs: Rows, remembered: Row) -> Row:
    """``went_on_at``: the start of the newest run that was restored from this directory at its
    start; ``began_at``: of the newest other run; now or in an earlier audit.
    """
    went_on = {
        remembered.get("went_on_at"),
        *(job["started_at"] for job in jobs if _continues(job)),
    }
    began = {remembered.get("began_at"), *(job["started_at"] for job in jobs)} - went_on
    return {"began_at": largest(began), "went_on_at": largest(went_on)}


def _continues(job: Row) -> bool:
    restored_at, started_at = job["restored_at"], job["started_at"]
    is_at_start = (
        None in (started_at, restored_at)
        or abs(restored_at - started_at) <= CLOCKS_APART_S * US_PER_S
    )
    return is_at_start and is_below(job["restored_path"], job["job_directory"])


def _failed_checkpoints(ended: Rows) -> list[Row]:
    """Checkpoints that never completed, except numbers with which another completed."""
    ended = list(ended)
    completed = {end["checkpoint_id"] for end in ended if end["completed"] is not False}
    if None in completed:
        return []
    never = (end for end in ended if end["completed"] is False and end["checkpoint_id"] is not None)
    return [end for end in never if end["checkpoint_id"] not in completed][:MOST_ENDED]


def sole_writers(owners: Rows) -> list[Row]:
    return [owner for owner in owners if owner["claims"] == 1]


def is_of_time(modified: int | None, end: Row, before_s: int = 0) -> bool:
    """Whether a file's time fits a checkpoint in ``checkpoints_ended``: from ``before_s`` before
    its trigger until shortly after its end.
    """
    if modified is None or end["triggered_at"] is None:
        return False
    until = end["triggered_at"] if end["ended_at"] is None else end["ended_at"]
    return bool(
        end["triggered_at"] - before_s * US_PER_S <= modified <= until + LEFT_AFTER_S * US_PER_S
    )


def may_run(jobs: Rows) -> list[Row]:
    return [job for job in jobs if not (job["terminal"] and job["seen"])]


def root_around(audit_id: str, path: str | None, roots: Rows) -> str | None:
    audited = (root for root in roots if root["audit_id"] == audit_id)
    return next((root["root"] for root in audited if is_below(path, root["root"])), None)


def is_whole_but_links(root: Row) -> bool:
    """Whether all files were listed, except below ``root["links"]``."""
    return bool(root["unlisted"] == len(root["links"]))


def is_surely_listed(path: str, root: Row) -> bool:
    return (
        is_below(path, root["root"])
        and is_whole_but_links(root)
        and not any(path == link or is_below(path, link) for link in root["links"])
    )
