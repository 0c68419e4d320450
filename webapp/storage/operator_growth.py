"""Operator state by operator over a job's checkpoints, from audits. Plain data for page, API,
command and rule.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.db.models import Min, Q

from ingest.flink_ids import is_given
from spark_jobs.diagnosis.storage_samples import OperatorStatePoint, OperatorStateTrend
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import epoch_ms
from webapp.storage.choices import AuditState
from webapp.storage.models import ChainLink, OperatorStateSize, StorageAudit

MOST_ANCESTORS = 5
"""Jobs that it was restored from, one after the other."""
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


def operator_trends(
    cluster: str, job_id: str, audit: StorageAudit | None = None
) -> tuple[OperatorStateTrend, ...]:
    """Trends of operators in the newest checkpoint, most elements first; nine queries at most.
    ``audit``: one whose rows count although not yet marked as loaded.
    """
    counts = Q(audit__state=AuditState.LOADED) | (Q(audit=audit) if audit else Q(pk__in=[]))
    ids = [job_id, *_ancestors(job_id)]
    # With an unknown writer, the id says no more than the directory.
    drawn = Q(cluster="", job_id__in=[id_ for id_ in ids if not is_given(id_)])
    kept = OperatorStateSize.objects.filter(counts, Q(cluster=cluster, job_id__in=ids) | drawn)
    # Audits have a row for each retained checkpoint, so one checkpoint occurs many times.
    rows = list(
        kept.values(*_FIELDS)
        .annotate(seen_at=Min("audit__as_of"))
        .order_by("-modified", "-checkpoint_id")[:MOST_ROWS]
    )
    own = [row for row in rows if row["job_id"] == job_id]
    if not own:
        return ()
    newest = max(own, key=_place)["metadata_path"]
    states = dict(kept.filter(metadata_path=newest).values_list("operator_id", "states"))
    of_operator: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=_place):
        of_operator[row["operator_id"]].append(row)
    names = _names(cluster, job_id)
    trends = (
        _trend(points[-MOST_POINTS:], states, names)
        for points in of_operator.values()
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


def _names(cluster: str, job_id: str) -> dict[str, str]:
    graph = (
        JobCurrent.objects.filter(cluster=cluster, job_id=job_id)
        .values_list("graph", flat=True)
        .first()
    )
    return {
        vertex["vertex_id"]: vertex["name"]
        for vertex in ((graph or {}).get("vertices") or ())
        if vertex.get("vertex_id") and vertex.get("name")
    }


def _trend(
    rows: list[dict[str, Any]], states: Mapping[str, Any], names: Mapping[str, str]
) -> OperatorStateTrend:
    last = rows[-1]
    key = last["operator_id"]
    return OperatorStateTrend(
        operator_id=key,
        name=last["operator_name"] or names.get(key) or "",
        points=tuple(_point(row) for row in rows),
        states=tuple(
            (str(state["name"]), str(state["mode"]), int(state["elements"]))
            for state in states.get(key) or ()
        ),
        files=last["files"],
    )


def _place(row: dict[str, Any]) -> tuple[int, int]:
    return epoch_ms(row["modified"] or row["seen_at"]), row["checkpoint_id"] or 0


def _point(row: dict[str, Any]) -> OperatorStatePoint:
    sizes = {
        name: row[name]
        for name in (
            "checkpoint_id",
            "job_id",
            "subtasks",
            "operator_bytes",
            "elements",
            "union_elements",
        )
    }
    return OperatorStatePoint(at_ms=_place(row)[0], **sizes)


def _ancestors(job_id: str) -> list[str]:
    """Ids of the jobs that it was restored from, by audits: a query for each, and few have any.
    With a given id nobody knows whose restore a link is.
    """
    ancestors: list[str] = []
    at: str | None = job_id
    while at and not is_given(at) and len(ancestors) < MOST_ANCESTORS:
        links = ChainLink.objects.filter(job_id=at, kind="restored_from").exclude(
            other_job_id__in=[job_id, *ancestors]
        )
        at = links.order_by("-audit__as_of").values_list("other_job_id", flat=True).first()
        ancestors += [at] if at else []
    return ancestors
