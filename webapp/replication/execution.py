import json
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from django.utils import timezone

from spark_jobs.replication.request import COMPLETE, Request, Result
from webapp.checkpoints.models import CheckpointFact
from webapp.lib.storage_uris import spellings
from webapp.replication import findings
from webapp.replication.models import Replica
from webapp.replication.registration import earlier_copies, places_of
from webapp.storage.models import StorageRoot
from webapp.work import spark_job
from webapp.work.lease import Lease
from webapp.work.runs import RunRecord, describe


def is_wanted(pk: int) -> bool:
    return Replica.objects.filter(pk=pk, enabled=True).exists()


def replicate(pk: int, lease: Lease, record: RunRecord) -> None:
    """Raises and records errors. A failed round is not repeated: the next round copies the newest
    checkpoint of its time.
    """
    row = Replica.objects.get(pk=pk)
    try:
        result = _run(request_of(row), record)
    except Exception as error:
        with lease.writing():
            Replica.objects.filter(pk=pk).update(trouble=describe(error), tried_at=timezone.now())
        findings.judge(Replica.objects.get(pk=pk), lease, timezone.now())
        raise
    with lease.writing():
        keep(row, result, timezone.now())
    findings.judge(Replica.objects.get(pk=pk), lease, timezone.now())
    is_complete = result.state == COMPLETE
    record.counts |= {
        "copied_files": result.copied_files if is_complete else 0,
        "copied_bytes": result.copied_bytes if is_complete else 0,
        "deleted_files": result.deleted_files,
    }


def _run(request: Request, record: RunRecord) -> Result:
    with tempfile.TemporaryDirectory(prefix="weir-replication-") as folder:
        request_file, result_file = Path(folder, "request.json"), Path(folder, "result.json")
        attempt = record.row.attempt
        request_file.write_text(request.text())
        command = ["replicate", "--request", str(request_file), "--out", str(result_file)]
        command += ["--attempt", attempt, *spark_job.interrupting(record.row)]
        spark_job.run(command, record, attempt)
        return Result(**json.loads(result_file.read_text()))


def request_of(row: Replica) -> Request:
    roots = list(StorageRoot.objects.prefetch_related("clusters"))
    return Request(
        row.name,
        row.source,
        row.destination,
        row.read_at or None,
        tuple((root.uri, root.read_at or None) for root in roots),
        spellings().aliases,
        tuple(root.uri for root in roots if not _may_read(row, root)),
        tuple((place.uri, place.read_at) for place in places_of(earlier_copies(row))),
    )


def _may_read(row: Replica, root: StorageRoot) -> bool:
    """Whether the round may read the root: a ``_metadata`` may name any path, so the requester must
    be allowed to see all clusters that write there.
    """
    if row.asker_clusters is None:
        return True
    writers = {cluster.name for cluster in root.clusters.all()}
    return bool(writers) and writers <= {row.cluster, *row.asker_clusters}


def keep(row: Replica, result: Result, now: datetime) -> None:
    """Save the result of a round, which may have completed a copy that an earlier, killed round did
    not save.
    """
    columns: dict[str, Any] = {"trouble": "", "tried_at": now}
    if result.checkpoint_id is not None:
        completed = datetime.fromisoformat(result.completed_at) if result.completed_at else now
        columns |= {
            "checkpoint_id": result.checkpoint_id,
            "triggered_at": _triggered_at(row, result),
            "completed_at": completed,
            "location": result.location,
            "files": result.files,
            "bytes": result.bytes,
        }
    Replica.objects.filter(pk=row.pk).update(**columns)


def _triggered_at(row: Replica, result: Result) -> datetime | None:
    facts = CheckpointFact.objects.filter(
        cluster=row.cluster, job_id=row.job_id, checkpoint_id=result.checkpoint_id or 0
    )
    trigger_time = facts.values_list("trigger_time", flat=True).first()
    return trigger_time or (datetime.fromisoformat(result.as_of) if result.as_of else None)
