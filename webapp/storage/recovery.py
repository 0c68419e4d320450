"""Newest retained checkpoints that the newest audit found not to be whole: what a failure of their jobs would meet.

They go to where windows of jobs are judged. Checkpoints completed since may lack the same files; the next audit tells.
"""

import json
from typing import Any

from spark_jobs.diagnosis.plain import recovery_point_from_plain
from spark_jobs.diagnosis.samples import RecoveryPoint
from webapp.fleet.models import JobCurrent
from webapp.storage.latest import latest_audits
from webapp.storage.models import CheckpointStorage, JobStorage

MOST = 150
"""They are an argument of a command line, of which Linux takes 128 KiB; more jobs at once are one disaster, named often enough."""
PATH_LETTERS = 300


def recovery_points(cluster: str = "", job_id: str = "") -> list[dict[str, Any]]:
    """Plain ``RecoveryPoint`` with ``cluster`` and ``job_id`` of running jobs (of one, where named), those that lack most files first."""
    lacking = CheckpointStorage.objects.filter(audit__audit_id__in=latest_audits(), missing_files__gt=0, is_savepoint=False)
    lacking = lacking.filter(cluster=cluster, job_id=job_id) if cluster else lacking.exclude(cluster="")
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in lacking.select_related("audit").order_by("-missing_files", "id")[: 10 * MOST]:
        if len(found) < MOST and (row.cluster, row.job_id) not in found and _is_newest(row) and _runs(row):
            found[row.cluster, row.job_id] = {
                "cluster": row.cluster,
                "job_id": row.job_id,
                "checkpoint_id": row.checkpoint_id,
                "audited_at_ms": round(row.audit.as_of.timestamp() * 1000) if row.audit.as_of else 0,
                "path": row.metadata_path[:PATH_LETTERS],
                "missing_files": row.missing_files,
                "missing_bytes": row.missing_bytes,
            }
    return list(found.values())


def as_argument() -> str:
    return json.dumps(recovery_points(), separators=(",", ":"))


def recovery_point_of(cluster: str, job_id: str) -> RecoveryPoint | None:
    return next((recovery_point_from_plain(one) for one in recovery_points(cluster, job_id)), None)


def _is_newest(row: CheckpointStorage) -> bool:
    later = JobStorage.objects.filter(audit=row.audit, cluster=row.cluster, job_id=row.job_id, newest_checkpoint_id__gt=row.checkpoint_id)
    return row.checkpoint_id is not None and not later.exists()


def _runs(row: CheckpointStorage) -> bool:
    return not JobCurrent.objects.filter(cluster=row.cluster, job_id=row.job_id, terminal=True).exists()
