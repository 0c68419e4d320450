from typing import Any

from webapp.findings.choices import FindingState
from webapp.findings.models import Finding

BUSY_VERTEX, SLOW_SYNC_PHASE, LATE_SOURCE = (
    "pressure.root",
    "checkpoint.sync",
    "checkpoint.start_delay",
)


def dumped_vertex_of(finding: Finding) -> str | None:
    """The vertex whose threads can explain an open finding; None for other rules."""
    return slow_vertex_of(finding) if finding.state == FindingState.OPEN else None


def slow_vertex_of(finding: Finding) -> str | None:
    data: Any = finding.data if isinstance(finding.data, dict) else {}
    vertex = data if finding.rule == BUSY_VERTEX else None
    if finding.rule == SLOW_SYNC_PHASE:
        slowest = data.get("slowest")
        vertex = slowest[-1] if isinstance(slowest, list) and slowest else None
    elif finding.rule == LATE_SOURCE:
        vertex = data.get("source")
    vertex_id = vertex.get("vertex_id") if isinstance(vertex, dict) else None
    return vertex_id if isinstance(vertex_id, str) else None
