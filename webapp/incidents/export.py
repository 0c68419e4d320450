"""An incident for machines: which names in which order."""

NAMES = (
    "uid",
    "title",
    "rule",
    "severity",
    "state",
    "cluster",
    "job_id",
    "job_name",
    "began_at",
    "last_seen",
    "ended_at",
    "finding_count",
    "job_count",
    "acknowledged_name",
    "acknowledged_at",
    "acknowledge_comment",
    "owner_name",
)
