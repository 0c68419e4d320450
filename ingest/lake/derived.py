from dataclasses import replace

from ingest.lake.tables import FLAG, INSTANT, INT, TABLES, TEXT, Column, Table

REFUSED = "refused"
"""Outcome of a trigger that took no checkpoint id: only the log shows it."""

# For a column without meaning, see the column of that name in the serving table checkpoint_fact.
CHECKPOINT_FACTS = Table(
    "derived/checkpoint_facts",
    "what one run found of one checkpoint, as far as roll-ups need it, or of one refused trigger",
    (
        Column("job_id", TEXT, "32 hex digits"),
        Column("checkpoint_id", INT, "null for a refused trigger"),
        Column("trigger_time", INSTANT, "of a refused trigger: time of its log line"),
        Column("line", TEXT, "which log line has the refused trigger; null for a checkpoint"),
        Column(
            "retracted",
            FLAG,
            "the key turned out to be another: what was recorded under it before is withdrawn",
        ),
        Column("is_savepoint", FLAG, ""),
        Column("outcome", TEXT, "of the checkpoint, or refused; null where retracted"),
        Column("final", FLAG, ""),
        *(
            Column(f"{name}_ms", INT, "", "ms")
            for name in ("end_to_end", "start_delay", "alignment", "sync", "async")
        ),
        *(Column(f"{name}_bytes", INT, "", "bytes") for name in ("state", "checkpointed")),
    ),
    ("cluster", "job_id", "checkpoint_id", "trigger_time", "line"),
    "trigger_time",
    ("cluster", "job_id", "trigger_time"),
)

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
