"""What was alerted of some jobs in a stretch of time, as plain data for reports."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Q

from webapp.alerting.models import Alert, AlertEvent

MOST_ALERTS = 500
MOST_EVENTS = 5_000
MOST_JOBS = 200

Job = tuple[str, str]
"""cluster, job id; the latter empty for what concerns the cluster itself."""


def history(jobs: Iterable[Job] | None, start: datetime, end: datetime) -> list[dict[str, Any]]:
    """Alerts that overlap the range in data time, in order of time; ``None`` for those of the whole fleet.

    Those of a job's cluster as a whole (it was not seen) belong to each of its jobs. At most 500, the worst first kept. Each:
    ``uid rule family severity confidence state cluster job_id job_name subject_kind subject title cause next_step starts_at
    ends_at fired_at resolved_at firings flapping muted_by acknowledged_by acknowledged_at acknowledge_comment`` and ``events``,
    a list of ``{"at", "kind", "words", "who", "comment"}``. Instants are datetimes; unknown is None.
    """
    found = Alert.objects.overlapping(start, end)
    if jobs is not None:
        wanted = Q(pk__in=[])
        by_cluster: dict[str, set[str]] = defaultdict(set)
        for cluster, job_id in list(jobs)[:MOST_JOBS]:
            by_cluster[cluster] |= {job_id, ""}
        for cluster, job_ids in by_cluster.items():
            wanted |= Q(cluster=cluster, job_id__in=job_ids)
        found = found.filter(wanted)
    rows = sorted(found.order_by("-severity_rank", "-starts_at", "-id")[:MOST_ALERTS], key=lambda row: (row.starts_at, row.pk))
    events: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in AlertEvent.objects.filter(alert__in=[row.pk for row in rows]).order_by("id")[:MOST_EVENTS]:
        events[event.alert_id].append(
            {"at": event.at, "kind": event.kind, "words": event.get_kind_display(), "who": event.who, "comment": event.comment}
        )
    return [_plain(row, events[row.pk]) for row in rows]


def _plain(row: Alert, events: list[dict[str, Any]]) -> dict[str, Any]:
    names = (
        "uid", "rule", "family", "severity", "confidence", "state", "cluster", "job_id", "job_name", "subject_kind", "subject", "title",
        "cause", "next_step", "starts_at", "ends_at", "fired_at", "resolved_at", "firings", "flapping", "muted_by", "acknowledged_at",
        "acknowledge_comment",
    )  # fmt: skip
    return {name: getattr(row, name) for name in names} | {"acknowledged_by": row.acknowledged_name or None, "events": events}
