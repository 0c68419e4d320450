"""Plain rows out of a recording: what the importer would write to the lake, and located log
events.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

import pyarrow as pa

from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.tables import TABLES
from ingest.recordings.recording import Recording
from ingest.records import LogRecord, Observed
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rows import Row, grouped
from spark_jobs.transforms.plain_rows import plain
from tests.fold.rows import UNREAD, events
from tests.ingest.flink_logs.row_events import event_of
from tests.ingest.recorded import RECORDINGS
from tests.task_locations import located

CLUSTER = "c"
PLACEMENT = ("job_id", "vertex_id", "ts", "host", "attempt")


@cache
def observed(recording: str) -> tuple[Observed, ...]:
    return tuple(
        reading
        for readings, _ in Recording(RECORDINGS / recording, CLUSTER).read()
        for reading in readings
    )


@cache
def lake_tables(recording: str) -> dict[str, pa.Table]:
    return {
        name: to_arrow(TABLES[name], rows, 1)
        for name, rows in group_by_table(observed(recording)).items()
    }


@cache
def located_events(recording: str) -> tuple[dict[str, Any], ...]:
    """Every log event, completed with where its task ran; instants are datetimes."""
    records = [
        (record, reading)
        for reading in observed(recording)
        for record in reading.records
        if isinstance(record, LogRecord)
    ]
    observed_at = {
        (record.process, record.offset): reading.observed_at for record, reading in records
    }
    in_order = sorted(
        (record for record, _ in records),
        key=lambda record: (record.ts, record.process, record.offset),
    )
    found = located(event for record in in_order if (event := event_of(record)))
    return tuple(
        {name: getattr(event, name) for name in event.__slots__}
        | {"observed_at": observed_at[event.process, event.offset]}
        for event in found
    )


@cache
def recorded_rows(recording: str, table: str) -> list[dict[str, Any]]:
    """Of all jobs; empty where the recording has no such rows."""
    rows = lake_tables(recording).get(table, TABLES[table].schema.empty_table()).combine_chunks()
    columns = (
        {
            name: plain(pa.concat_arrays(rows[name].chunks))
            for name in rows.schema.names
            if name not in UNREAD
        }
        if len(rows)
        else {}
    )
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


@cache
def recorded_events(recording: str) -> list[dict[str, Any]]:
    plain_events = (
        {name: in_ms(value) for name, value in event.items()} for event in located_events(recording)
    )
    return events(plain_events)


@cache
def recorded_jobs(recording: str) -> list[JobUpdate]:
    """All that REST and the logs tell of each job; pressure windows are made by Spark and left
    out.
    """
    log = recorded_events(recording)
    placements = [
        {name: row[name] for name in PLACEMENT}
        for row in recorded_rows(recording, "vertex_metrics")
    ]
    parts: dict[str, Iterable[Row]] = {
        "answers": recorded_rows(recording, "jobs"),
        "checkpoints": recorded_rows(recording, "checkpoints"),
        "vertex_checkpoints": recorded_rows(recording, "vertex_checkpoints"),
        "events": log,
        "placements": placements,
        "vertex_starts": recorded_rows(recording, "vertex_starts"),
        "vertex_gauges": recorded_rows(recording, "vertex_gauges"),
    }
    by_job = {
        name: grouped((row for row in rows if row["job_id"] is not None), "job_id")
        for name, rows in parts.items()
    }
    job_ids = sorted({job_id for groups in by_job.values() for job_id in groups})
    return [
        JobUpdate(
            CLUSTER, job_id, **{name: groups.get(job_id, []) for name, groups in by_job.items()}
        )
        for job_id in job_ids
    ]


def recorded_job(recording: str) -> JobUpdate:
    """The one job of a recording that has no others."""
    (job,) = recorded_jobs(recording)
    return job


def in_ms(value: Any) -> Any:
    return round(value.timestamp() * 1000) if hasattr(value, "timestamp") else value
