"""Vertices whose flame graph shows the cause, as findings name them: a source that is late with
checkpoints, a vertex that holds others.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from webapp.findings.choices import FindingState
from webapp.findings.models import Finding
from webapp.profiles import flame_graph_requests as flame_graphs

LATE, BUSY = "checkpoint.start_delay", "pressure.root"
RECENT = timedelta(minutes=10)
MOST_FINDINGS = 100


@dataclass(frozen=True)
class SampledVertex:
    """``subtask``: 0-based, the one that started last, or the first that is busy; None where that
    is not known.
    """

    vertex_id: str
    name: str
    subtask: int | None


def sampled_vertex_of(finding: Finding) -> SampledVertex | None:
    data: Any = finding.data if isinstance(finding.data, dict) else {}
    if finding.rule == LATE:
        data = data.get("source")
        data = data if isinstance(data, dict) else {}
        subtask = data.get("subtask")
    elif finding.rule == BUSY:
        hot = data.get("hot_subtasks")
        subtask = hot[0] if isinstance(hot, list) and hot else None
    else:
        return None
    vertex_id = data.get("vertex_id")
    if not isinstance(vertex_id, str):
        return None
    name = data.get("name") or (finding.subject if finding.rule == BUSY else "") or vertex_id
    return SampledVertex(vertex_id, str(name), subtask if isinstance(subtask, int) else None)


def want_flame_graphs(clusters: Iterable[str], now: datetime) -> int:
    """Request those of open findings with recent occurrences; returns how many requests are new."""
    seen = Finding.objects.filter(
        rule__in=(LATE, BUSY),
        state=FindingState.OPEN,
        cluster__in=list(clusters),
        last_seen__gte=now - RECENT,
    )
    wanted = 0
    for finding in seen.order_by("-last_seen").only("cluster", "job_id", "rule", "data", "subject")[
        :MOST_FINDINGS
    ]:
        if sampled := sampled_vertex_of(finding):
            wanted += flame_graphs.want(
                finding.cluster, finding.job_id, sampled.vertex_id, now, subtask=sampled.subtask
            )
    return wanted
