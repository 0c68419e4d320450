"""A checkpoint fact for machines: which names in which order."""

from spark_jobs.serving import CHECKPOINT_FACT

FIRST = (
    "cluster", "job_id", "checkpoint_id", "is_savepoint", "outcome", "reason", "trigger_time", "end_to_end_ms",
    "state_bytes", "checkpointed_bytes", "subtasks", "acknowledged",
)  # fmt: skip
NAMES = (*FIRST, *(name for name in CHECKPOINT_FACT.column_names if name not in FIRST))
