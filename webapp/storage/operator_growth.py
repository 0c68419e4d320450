"""Reads from audits how the state of operators grows over the checkpoints of a job."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.db.models import Min, Q

from ingest.flink_ids import is_given
from spark_jobs.diagnosis.storage_samples import OperatorStatePoint, OperatorStateTrend
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import epoch_ms
from webapp.storage.choices import AuditState
from webapp.storage.models import ChainLink, OperatorStateSize

MOST_ANCESTORS = 5
"""An ancestor is a job whose snapshot another job was restored from."""
MOST_ROWS = 4_000
MOST_POINTS = 200
_FIELDS = (
    "metadata_path",
    "operator_id",
    "operator_name",
    "job_id",
    "checkpoint_id",
    "modified",
    "subtasks",
    "operator_bytes",
    "elements",
    "union_elements",
    "files",
)


def operator_trends(cluster: str, job_id: str) -> tuple[OperatorStateTrend, ...]:
    """Trends of operators in the newest checkpoint, most elements first."""
    job_ids = [job_id, *_ancestors(job_id)]
    # If the cluster is unknown, only an id that Flink chose at random identifies the job.
    by_random_id = Q(cluster="", job_id__in=[id_ for id_ in job_ids if not is_given(id_)])
    sizes = OperatorStateSize.objects.filter(
        Q(cluster=cluster, job_id__in=job_ids) | by_random_id, audit__state=AuditState.LOADED
    )
    # Each audit has a row for every retained checkpoint, so a checkpoint occurs many times.
    rows = list(
        sizes.values(*_FIELDS)
        .annotate(seen_at=Min("audit__as_of"))
        .order_by("-modified", "-checkpoint_id")[:MOST_ROWS]
    )
    rows_of_job = [row for row in rows if row["job_id"] == job_id]
    if not rows_of_job:
        return ()
    newest = max(rows_of_job, key=_time_and_id)["metadata_path"]
    states = dict(sizes.filter(metadata_path=newest).values_list("operator_id", "states"))
    rows_by_operator: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=_time_and_id):
        rows_by_operator[row["operator_id"]].append(row)
    job = JobCurrent.objects.filter(cluster=cluster, job_id=job_id).only("graph").first()
    names = job.given_names if job else {}
    trends = (
        _trend(points[-MOST_POINTS:], states, names)
        for points in rows_by_operator.values()
        if points[-1]["metadata_path"] == newest
    )
    return tuple(
        sorted(
            trends,
            key=lambda trend: (
                -trend.newest.elements,
                -trend.newest.operator_bytes,
                trend.operator_id,
            ),
        )
    )


def _trend(
    rows: list[dict[str, Any]], states: Mapping[str, Any], names: Mapping[str, str]
) -> OperatorStateTrend:
    last = rows[-1]
    operator_id = last["operator_id"]
    return OperatorStateTrend(
        operator_id=operator_id,
        name=last["operator_name"] or names.get(operator_id) or "",
        points=tuple(_point(row) for row in rows),
        states=tuple(
            (str(state["name"]), str(state["mode"]), int(state["elements"]))
            for state in states.get(operator_id) or ()
        ),
        files=last["files"],
    )


def _time_and_id(row: dict[str, Any]) -> tuple[int, int]:
    return epoch_ms(row["modified"] or row["seen_at"]), row["checkpoint_id"] or 0


def _point(row: dict[str, Any]) -> OperatorStatePoint:
    names = (
        "checkpoint_id",
        "job_id",
        "subtasks",
        "operator_bytes",
        "elements",
        "union_elements",
    )
    return OperatorStatePoint(at_ms=_time_and_id(row)[0], **{name: row[name] for name in names})


def _ancestors(job_id: str) -> list[str]:
    """Ids of the job's ancestors, the nearest first. Ends at an id that a user chose, because several
    jobs may have the same id.
    """
    ancestors: list[str] = []
    current: str | None = job_id
    while current and not is_given(current) and len(ancestors) < MOST_ANCESTORS:
        links = ChainLink.objects.filter(job_id=current, kind="restored_from").exclude(
            other_job_id__in=[job_id, *ancestors]
        )
        current = links.order_by("-audit__as_of").values_list("other_job_id", flat=True).first()
        if current:
            ancestors.append(current)
    return ancestors
