"""Log events completed with where their tasks ran, by the steps of a small cycle."""

import pyarrow as pa

from spark_jobs.nested_tables import CLUSTER
from spark_jobs.small.tables import in_order, mapped
from spark_jobs.step_schemas import EXECUTION, LEARNT_EXECUTION, SERVED_EVENT, TASKMANAGER_LINE
from spark_jobs.steps import executions, locations

NONE = EXECUTION.empty_table()


def learnt(events: pa.Table, carried: pa.Table = NONE) -> pa.Table:
    told = mapped(events.select(executions.TOLD.names), executions.telling_batches, executions.TOLD)
    return mapped(
        in_order({"carried": carried, "reported": told}, CLUSTER),
        executions.learnt_batches,
        LEARNT_EXECUTION,
    )


def located(events: pa.Table, carried: pa.Table = NONE) -> pa.Table:
    rows = in_order({"executions": learnt(events, carried), "events": events}, CLUSTER)
    return mapped(rows, locations.located_batches, SERVED_EVENT)


def taskmanager_lines(events: pa.Table, carried: pa.Table = NONE) -> pa.Table:
    lines = mapped(events.select(locations.LOSS.names), locations.loss_batches, locations.LOSS)
    rows = in_order({"executions": learnt(events, carried), "lines": lines}, CLUSTER)
    return mapped(rows, locations.taskmanager_line_batches, TASKMANAGER_LINE)
