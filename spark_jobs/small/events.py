"""Log records → typed events as plain rows; what :mod:`spark_jobs.transforms.log_events` gives as a frame."""

import pyarrow as pa

from spark_jobs.small.rows import Row
from spark_jobs.transforms.event_batches import RECORD_COLUMNS, served_event_batches


def recognised(log_records: pa.Table) -> list[Row]:
    """A row of ``SERVED_EVENT`` for each event, as often as the lake holds it."""
    records = log_records.select([*RECORD_COLUMNS, "message"]).to_batches()
    return [row for batch in served_event_batches(records) for row in batch.to_pylist()]
