"""Finds jobs that could not recover from a failure: in the newest audit, their newest retained
checkpoint lacks files. Rules on job windows read these recovery points.
"""

from typing import Any

from django.db.models import Exists, OuterRef

from webapp.fleet.models import JobCurrent
from webapp.lib.instants import epoch_ms
from webapp.storage.models import CheckpointStorage, JobStorage
from webapp.storage.newest_audits import latest_audits

_OF_JOB = {"cluster": OuterRef("cluster"), "job_id": OuterRef("job_id")}


def recovery_points() -> list[dict[str, Any]]:
    """Fields of ``RecoveryPoint``, with ``cluster`` and ``job_id``; at most one point for a job.
    Jobs that ended are left out.
    """
    with_newer = JobStorage.objects.filter(
        audit=OuterRef("audit"), newest_checkpoint_id__gt=OuterRef("checkpoint_id"), **_OF_JOB
    )
    ended = JobCurrent.objects.filter(terminal=True, **_OF_JOB)
    incomplete = CheckpointStorage.objects.filter(
        audit__audit_id__in=latest_audits(), missing_files__gt=0, is_savepoint=False
    ).exclude(cluster="")
    newest = incomplete.filter(~Exists(with_newer), ~Exists(ended), checkpoint_id__isnull=False)
    points_by_job: dict[tuple[str, str], dict[str, Any]] = {}
    for row in newest.select_related("audit").order_by("-missing_files", "id").iterator():
        points_by_job.setdefault((row.cluster, row.job_id), _plain(row))
    return list(points_by_job.values())


def _plain(row: CheckpointStorage) -> dict[str, Any]:
    return {
        "cluster": row.cluster,
        "job_id": row.job_id,
        "checkpoint_id": row.checkpoint_id,
        "audited_at_ms": epoch_ms(row.audit.as_of) if row.audit.as_of else 0,
        "path": row.metadata_path,
        "missing_files": row.missing_files,
        "missing_bytes": row.missing_bytes,
    }
