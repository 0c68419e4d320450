"""A finding for machines: which names in which order."""

NAMES = (
    "rule", "severity", "confidence", "state", "cluster", "job_id", "job_name", "subject", "title", "evidence", "next_step",
    "first_seen", "last_seen", "closed_at", "cause", "subject_kind", "subject_id", "related", "data", "as_of", "id",
)  # fmt: skip
