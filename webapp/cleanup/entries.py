"""One row of a plan: a file that may be removed, with its proof. Rows are sorted by root and path."""

import pyarrow as pa

METADATA_NAME = "_metadata"
CHUNK_ROWS = 1_000
"""Files that are checked again, intended, moved and journalled together."""
PART_ROWS = 50_000
"""Files of one Parquet part, which is read as a whole so that what was hashed is what is used:
about 15 MB.
"""

ORPHAN, WASTE = "orphan", "retained_waste"

ORPHAN_PLACES = (
    "exclusive",
    "shared",
    "merged_shared",
    "taskowned",
    "merged_taskowned",
    "changelog",
    "database",
)
"""Of Flink's own layout.

An unreferenced ``_metadata`` would be its own referrer, so only waste holds any.
"""
WASTE_PLACES = (*ORPHAN_PLACES, "metadata")

_INSTANT = pa.timestamp("ms", tz="UTC")

SCHEMA = pa.schema(
    [
        ("root", pa.string()),
        ("path", pa.string()),
        ("listed_path", pa.string()),
        ("bytes", pa.int64()),
        ("modified", _INSTANT),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("kind", pa.string()),
        ("place", pa.string()),
        ("cluster", pa.string()),
        ("job_id", pa.string()),
        ("checkpoint_id", pa.int64()),
        ("first_seen_at", _INSTANT),
        ("unreferenced_since", _INSTANT),
        ("last_referrer", pa.string()),
        ("age_ms", pa.int64()),
    ]
)
"""``path`` is canonical; ``listed_path`` is how the file system spells it. ``age_ms`` is from the
later of ``modified`` and ``first_seen_at`` to the audit's listing, ``unreferenced_since`` the first
audit that found no referrer.
"""

VERDICT_COLUMNS = [name for name in SCHEMA.names if name != "age_ms"]
