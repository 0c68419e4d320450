"""What the tasks did that a finding of a slow start is about."""

from typing import Any

from webapp.findings.models import Finding
from webapp.profiles.models import StartingThread
from webapp.profiles.starting_threads import before

RULE = "start.slow_phase"


def starting_threads_of(finding: Finding) -> list[StartingThread] | None:
    """None for a finding of another rule. Of the vertices that it names, else of all."""
    if finding.rule != RULE:
        return None
    data: Any = finding.data if isinstance(finding.data, dict) else {}
    named = data.get("vertex_ids")
    vertex_ids = (
        [text for text in named if isinstance(text, str)] if isinstance(named, list) else []
    )
    return before(finding.cluster, finding.job_id, finding.last_seen, vertex_ids)
