"""A line that Flink words anew goes through a cycle as an event of no job, with how it begins."""

from datetime import UTC, datetime

import pyarrow as pa

from ingest.flink_logs.patterns import UNREAD
from spark_jobs.transforms.event_batches import served_event_batches

AT = datetime(2026, 11, 21, tzinfo=UTC)


def test_it_is_served_with_how_it_begins() -> None:
    line = {
        "cluster": "c",
        "observed_at": AT,
        "process": "jm.log",
        "ts": AT,
        "level": "INFO",
        "record_hash": "0" * 32,
        "ordinal": 0,
    }
    messages = (
        "Completed checkpoint number 3 of job x",
        "Served something",
        "Triggering savepoint for job x",
    )
    records = [
        {**line, "file": "jm.log", "offset": number, "message": message}
        for number, message in enumerate(messages)
    ]
    rows = [
        row
        for batch in served_event_batches(pa.Table.from_pylist(records).to_batches())
        for row in batch.to_pylist()
    ]
    found = [(row["kind"], row["served_reason"], row["job_id"], row["message"]) for row in rows]
    assert found == [
        (UNREAD, "Completed checkpoint", None, messages[0]),
        ("savepoint_requested", None, None, messages[2]),
    ]
