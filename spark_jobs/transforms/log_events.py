"""Log records → typed events by the pattern table, as columns of what :mod:`ingest.flink_logs.event_parser` reads."""

from pyspark.sql import DataFrame

from spark_jobs.step_schemas import SERVED_EVENT
from spark_jobs.transforms.event_batches import RECORD_COLUMNS, served_event_batches
from spark_jobs.worker_rows import WorkerRows


def recognised(log_records: DataFrame) -> WorkerRows:
    """One row per event, as often as the lake holds it: a map over the records, nothing is sorted or sent around."""
    return WorkerRows(log_records.select(*RECORD_COLUMNS, "message"), served_event_batches, SERVED_EVENT)
