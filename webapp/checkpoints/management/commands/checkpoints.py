"""Print checkpoint facts."""

from typing import Any

from spark_jobs.serving import CHECKPOINT_FACT
from webapp.checkpoints.filters import CheckpointFilters
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.rows_command import RowsCommand


class Command(RowsCommand):
    help = (
        "Print what is known about checkpoints, by cluster, job and trigger time: a table, or with "
        "--json one object per line. Exit code 0, or 2 if the cluster or job is unknown."
    )
    model = CheckpointFact
    filters = CheckpointFilters
    order = ("cluster", "job_id", "trigger_time", "id")
    names = CHECKPOINT_FACT.column_names
    columns = (
        ("cluster", 20),
        ("job_id", 32),
        ("checkpoint_id", 8),
        ("kind", 10),
        ("outcome", 11),
        ("trigger_time", 24),
        ("end_to_end_ms", 13),
        ("state_bytes", 14),
        ("checkpointed_bytes", 18),
        ("acknowledged", 12),
        ("reason", 0),
    )
    right = ("checkpoint_id", "end_to_end_ms", "state_bytes", "checkpointed_bytes", "acknowledged")

    def cells(self, row: dict[str, Any]) -> dict[str, Any]:
        acknowledged = (
            ("-" if row[name] is None else row[name]) for name in ("acknowledged", "subtasks")
        )
        return {
            **row,
            "kind": {True: "savepoint", False: "checkpoint", None: "unknown"}[row["is_savepoint"]],
            "trigger_time": row["trigger_time"]
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "acknowledged": "{}/{}".format(*acknowledged),
        }
