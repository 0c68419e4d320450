"""A delivery for machines: which names in which order."""

NAMES = (
    "uid",
    "endpoint",
    "state",
    "kind",
    "status",
    "title",
    "group",
    "cluster",
    "notice_uid",
    "mail_to",
    "made_at",
    "next_attempt_at",
    "ended_at",
    "attempts",
    "last_status",
    "last_error",
    "replays",
    "replayed_at",
    "replayed_by",
)
