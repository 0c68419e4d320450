"""Which answers are kept: the pages somebody on call opens, and the parts that these fetch. No exports, no forms, no secrets, no API."""

PAGES = frozenset(
    {
        "fleet",
        "job",
        "checkpoint",
        "findings",
        "finding",
        "incidents",
        "incident",
        "alerts",
        "alert",
        "storage",
        "storage-root",
        "hosts",
        "host",
        "growth",
    }
)
PARTS = frozenset(
    {
        "finding-chart",
        "growth-chart",
        "host-taskmanagers",
        "job-advice",
        "job-chart-checkpoints",
        "job-chart-pools",
        "job-chart-size",
        "storage-chart-history",
        "storage-chart-sizes",
    }
)
NAMES = PAGES | PARTS
"""Names of addresses."""

TYPES = ("text/html", "application/json")
MOST_BYTES = 4 << 20
"""Of one answer as it is sent; a larger one is not kept."""
LONGEST_ADDRESS = 2_000
