from dataclasses import replace

import pyarrow as pa

from ingest.lake.tables import FLAG, INSTANT, INT, TABLES, TEXT, Table

REFUSED = "refused"
"""Outcome of a trigger that took no checkpoint id: only the log shows it."""

CHECKPOINT_FACTS = Table(
    "derived/checkpoint_facts",
    "what one run found of one checkpoint, as far as roll-ups need it, or of one refused trigger",
    pa.schema(
        [
            ("job_id", TEXT),
            ("checkpoint_id", INT),
            ("trigger_time", INSTANT),
            ("line", TEXT),
            ("retracted", FLAG),
            ("is_savepoint", FLAG),
            ("outcome", TEXT),
            ("final", FLAG),
            ("end_to_end_ms", INT),
            ("start_delay_ms", INT),
            ("alignment_ms", INT),
            ("sync_ms", INT),
            ("async_ms", INT),
            ("state_bytes", INT),
            ("checkpointed_bytes", INT),
        ]
    ),
    ("cluster", "job_id", "checkpoint_id", "trigger_time", "line"),
    "trigger_time",
    ("cluster", "job_id", "trigger_time"),
)
"""``checkpoint_id`` is null for a refused trigger, which has the log line ``line`` of the time
``trigger_time`` and the ``outcome`` refused. ``retracted``: the key turned out to be another; what
was recorded under it before is withdrawn, and ``outcome`` is null. For other columns, see the
serving table checkpoint_fact.
"""

READ_BY_SPARK: dict[str, Table] = {
    name: replace(TABLES[name], name=f"derived/{name}")
    for name in ("log_records", "references", "snapshots", "skips")
}
"""Raw table, which collectors write → the table to which Spark writes such rows."""

DERIVED: dict[str, Table] = {
    table.name: table for table in (*READ_BY_SPARK.values(), CHECKPOINT_FACTS)
}
NO_JOBS = frozenset({"namenode_samples"})
"""Raw tables without rows about jobs: pages read them directly."""
CYCLE_TABLES: dict[str, Table] = {
    **{name: table for name, table in TABLES.items() if name not in NO_JOBS},
    **{table.name: table for table in READ_BY_SPARK.values()},
}
"""Tables for which a new commit makes a cycle run."""
ALL_TABLES: dict[str, Table] = {**TABLES, **DERIVED}


def with_same_rows(table: str) -> tuple[str, ...]:
    """A raw table, and the table to which Spark writes such rows, if there is one."""
    return (table, READ_BY_SPARK[table].name) if table in READ_BY_SPARK else (table,)
