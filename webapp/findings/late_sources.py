"""Sources that start their part of checkpoints late, as findings name them, and the flame graph that shows what their threads do."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from webapp.findings.choices import FindingState
from webapp.findings.models import Finding
from webapp.flame_graphs import requests as flame_graphs

RULE = "checkpoint.start_delay"
LATELY = timedelta(minutes=10)
MOST_FINDINGS = 100


@dataclass(frozen=True)
class LateSource:
    """``subtask``: 0-based, the one that started last; None where that is not known."""

    vertex_id: str
    name: str
    subtask: int | None


def late_source_of(finding: Finding) -> LateSource | None:
    data: Any = (finding.data or {}).get("source") if finding.rule == RULE and isinstance(finding.data, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("vertex_id"), str):
        return None
    subtask = data.get("subtask")
    return LateSource(data["vertex_id"], str(data.get("name") or data["vertex_id"]), subtask if isinstance(subtask, int) else None)


def want_flame_graphs(clusters: Iterable[str], now: datetime) -> int:
    """Request those of open findings with recent occurrences; returns how many requests are new."""
    seen = Finding.objects.filter(rule=RULE, state=FindingState.OPEN, cluster__in=list(clusters), last_seen__gte=now - LATELY)
    wanted = 0
    for finding in seen.order_by("-last_seen").only("cluster", "job_id", "rule", "data")[:MOST_FINDINGS]:
        if source := late_source_of(finding):
            wanted += flame_graphs.want(finding.cluster, finding.job_id, source.vertex_id, now, subtask=source.subtask)
    return wanted
