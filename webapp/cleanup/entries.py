"""The rows of a plan: files that may be removed, with their proof, sorted by root and path."""

import pyarrow as pa

CHUNK_ROWS = 1_000
"""So many files are checked again, moved and journalled together."""
PART_ROWS = 50_000
"""So many files are in a Parquet part, about 15 MB, which is read and hashed as a whole."""

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
"""Places in Flink's layout. An orphan is never a ``_metadata``, which is its own referrer."""
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
"""``path`` is canonical; ``listed_path`` is the spelling of the file system. ``age_ms``: from the
later of ``modified`` and ``first_seen_at`` to the audit's listing. ``unreferenced_since``: time of
the first audit that found no referrer.
"""

VERDICT_COLUMNS = [name for name in SCHEMA.names if name != "age_ms"]
