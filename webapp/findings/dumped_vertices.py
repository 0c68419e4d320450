"""Findings whose cause a thread dump can show: a busy vertex, a slow synchronous part, or a source
late with checkpoints.
"""

from typing import Any

from webapp.findings.choices import FindingState
from webapp.findings.models import Finding

BUSY, SLOW_SYNC, LATE = "pressure.root", "checkpoint.sync", "checkpoint.start_delay"


def dumped_vertex_of(finding: Finding) -> str | None:
    """The vertex whose threads can explain an open finding; None for findings of other rules."""
    return slow_vertex_of(finding) if finding.state == FindingState.OPEN else None


def slow_vertex_of(finding: Finding) -> str | None:
    data: Any = finding.data if isinstance(finding.data, dict) else {}
    if finding.rule == SLOW_SYNC:
        slowest = data.get("slowest")
        data = (
            slowest[-1]
            if isinstance(slowest, list) and slowest and isinstance(slowest[-1], dict)
            else {}
        )
    elif finding.rule == LATE:
        source = data.get("source")
        data = source if isinstance(source, dict) else {}
    elif finding.rule != BUSY:
        return None
    vertex_id = data.get("vertex_id")
    return vertex_id if isinstance(vertex_id, str) else None
