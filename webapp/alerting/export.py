"""An alert for machines: which names in which order."""

NAMES = (
    "uid", "rule", "severity", "confidence", "state", "cluster", "job_id", "job_name", "subject", "title", "starts_at", "ends_at",
    "fired_at", "resolved_at", "ended_because", "firings", "flapping", "muted_by", "acknowledged_name", "acknowledged_at",
    "acknowledge_comment", "told", "told_at", "cause", "next_step", "evidence", "subject_kind", "subject_id", "labels",
)  # fmt: skip
