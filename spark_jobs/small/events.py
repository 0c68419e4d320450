"""Log records → typed events; what :mod:`spark_jobs.transforms.log_events` gives as a frame."""

import pyarrow as pa

from spark_jobs.step_schemas import SERVED_EVENT
from spark_jobs.transforms.event_batches import RECORD_COLUMNS, served_event_batches


def recognised(log_records: pa.Table) -> pa.Table:
    """A row of ``SERVED_EVENT`` for each event, as often as the lake holds it."""
    records = log_records.select([*RECORD_COLUMNS, "message"]).to_batches()
    return pa.Table.from_batches(served_event_batches(records), SERVED_EVENT)
