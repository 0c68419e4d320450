"""Log events completed with where their tasks ran, and TaskManagers that were lost, by the steps of
a small cycle.
"""

import pyarrow as pa

from spark_jobs.nested_tables import CLUSTER
from spark_jobs.small.tables import group_rows, map_rows
from spark_jobs.step_schemas import (
    EXECUTION,
    LIFE,
    SERVED_EVENT,
    TASKMANAGER_LOSS,
    UPDATED_EXECUTION,
    UPDATED_LIFE,
)
from spark_jobs.steps import executions, lives, locations

NONE = EXECUTION.empty_table()


def learnt(events: pa.Table, carried: pa.Table = NONE) -> pa.Table:
    told = map_rows(
        events.select(executions.REPORTED.names), executions.report_batches, executions.REPORTED
    )
    return map_rows(
        group_rows({"previous": carried, "reported": told}, CLUSTER),
        executions.updated_batches,
        UPDATED_EXECUTION,
    )


def located(events: pa.Table, carried: pa.Table = NONE) -> pa.Table:
    rows = group_rows({"executions": learnt(events, carried), "events": events}, CLUSTER)
    return map_rows(rows, locations.located_batches, SERVED_EVENT)


def lived(events: pa.Table, carried: pa.Table = NONE, known: pa.Table | None = None) -> pa.Table:
    """Lives of TaskManagers; ``known``: an earlier result."""
    parts = {
        "previous": LIFE.empty_table() if known is None else known.select(LIFE.names),
        "lines": map_rows(events.select(lives.LINE.names), lives.line_batches, lives.LINE),
        "executions": learnt(events, carried).select(EXECUTION.names),
    }
    return map_rows(group_rows(parts, CLUSTER), lives.life_batches, UPDATED_LIFE)


def taskmanager_losses(events: pa.Table, carried: pa.Table = NONE) -> pa.Table:
    return map_rows(lived(events, carried), lives.loss_batches, TASKMANAGER_LOSS)
