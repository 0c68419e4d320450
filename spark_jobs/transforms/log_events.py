"""Log records → typed events by the pattern table, as columns of what :mod:`ingest.flink_logs.event_parser` reads."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.schemas import spark_schema
from spark_jobs.serving import LOG_EVENT_FIELDS
from spark_jobs.step_schemas import EVENT
from spark_jobs.transforms.event_batches import RECORD_COLUMNS, event_batches


def recognised(log_records: DataFrame) -> DataFrame:
    """One row per event (``EVENT``), as often as the lake holds it: a map over the records, nothing is sorted or sent around."""
    return log_records.select(*RECORD_COLUMNS, "message").mapInArrow(event_batches, spark_schema(EVENT))


def with_served(located: DataFrame) -> DataFrame:
    """Located events as ``SERVED_EVENT``."""
    change = F.concat_ws(" -> ", "from_state", "to_state")
    rest = F.struct(*(F.col(name) for name in LOG_EVENT_FIELDS))
    return located.withColumns(
        {
            "fields": F.to_json(rest, {"ignoreNullFields": "true"}),
            "served_reason": F.coalesce("reason", F.nullif(change, F.lit(""))),
        }
    )
