"""Tables that Spark jobs derive from the raw ones and the lake keeps, declared as those are.

They are no part of ``TABLES``: what commits to a raw table makes a cycle run, what a cycle derives must not.
``source`` of their rows is the attempt that wrote them, ``observed_at`` the newest observation a row rests on.
"""

from ingest.lake.tables import FLAG, INSTANT, INT, TABLES, TEXT, Column, Table

REFUSED = "refused"
"""Outcome of a trigger that was refused before it took a checkpoint id: only the log shows it."""

CHECKPOINT_FACTS = Table(
    "derived/checkpoint_facts",
    "what one run found of one checkpoint, as far as roll-ups need it, or of one refused trigger",
    (
        Column("job_id", TEXT, "32 hex digits"),
        Column("checkpoint_id", INT, "null for a refused trigger"),
        Column("trigger_time", INSTANT, "of a refused trigger: time of its log line"),
        Column("line", TEXT, "which log line has the refused trigger; null for a checkpoint"),
        Column("retracted", FLAG, "the key turned out to be another: what was recorded under it before is withdrawn"),
        Column("is_savepoint", FLAG, ""),
        Column("outcome", TEXT, "of the checkpoint, or refused; null where retracted"),
        Column("final", FLAG, "the outcome is settled"),
        Column("end_to_end_ms", INT, "", "ms"),
        Column("start_delay_ms", INT, "largest over all subtasks", "ms"),
        Column("alignment_ms", INT, "largest over all subtasks", "ms"),
        Column("sync_ms", INT, "largest over all subtasks", "ms"),
        Column("async_ms", INT, "largest over all subtasks", "ms"),
        Column("state_bytes", INT, "full state", "bytes"),
        Column("checkpointed_bytes", INT, "newly uploaded", "bytes"),
    ),
    ("cluster", "job_id", "checkpoint_id", "trigger_time", "line"),
    "trigger_time",
    ("cluster", "job_id", "trigger_time"),
)

DERIVED: dict[str, Table] = {table.name: table for table in (CHECKPOINT_FACTS,)}
ALL_TABLES: dict[str, Table] = {**TABLES, **DERIVED}
"""Every table that a lake may hold."""
