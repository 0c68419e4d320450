"""Log events completed with where their tasks ran, and TaskManagers that were lost, by the steps of
a small cycle.
"""

import pyarrow as pa

from spark_jobs.nested_tables import CLUSTER
from spark_jobs.small.tables import in_order, mapped
from spark_jobs.step_schemas import (
    EXECUTION,
    UPDATED_EXECUTION,
    UPDATED_LIFE,
    LIFE,
    SERVED_EVENT,
    TASKMANAGER_LOSS,
)
from spark_jobs.steps import executions, lives, locations

NONE = EXECUTION.empty_table()


def learnt(events: pa.Table, carried: pa.Table = NONE) -> pa.Table:
    told = mapped(
        events.select(executions.REPORTED.names), executions.report_batches, executions.REPORTED
    )
    return mapped(
        in_order({"carried": carried, "reported": told}, CLUSTER),
        executions.learnt_batches,
        UPDATED_EXECUTION,
    )


def located(events: pa.Table, carried: pa.Table = NONE) -> pa.Table:
    rows = in_order({"executions": learnt(events, carried), "events": events}, CLUSTER)
    return mapped(rows, locations.located_batches, SERVED_EVENT)


def lived(events: pa.Table, carried: pa.Table = NONE, known: pa.Table | None = None) -> pa.Table:
    """Lives of TaskManagers; ``known``: an earlier result."""
    parts = {
        "known": LIFE.empty_table() if known is None else known.select(LIFE.names),
        "lines": mapped(events.select(lives.LINE.names), lives.line_batches, lives.LINE),
        "executions": learnt(events, carried).select(EXECUTION.names),
    }
    return mapped(in_order(parts, CLUSTER), lives.life_batches, UPDATED_LIFE)


def taskmanager_losses(events: pa.Table, carried: pa.Table = NONE) -> pa.Table:
    return mapped(lived(events, carried), lives.loss_batches, TASKMANAGER_LOSS)
