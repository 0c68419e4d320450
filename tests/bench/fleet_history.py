"""What a cycle would remember of a large fleet after a long time: one job is folded over all of it,
the others are its copies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from zstandard import ZstdCompressor, ZstdDecompressor

from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.tables import TABLES
from ingest.records import LogRecord, Observed, VertexCheckpoint, VertexMetrics
from spark_jobs import manifest as manifests
from spark_jobs.fold.job import JobResult, fold
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rows import Row
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState
from spark_jobs.manifest import Manifest
from spark_jobs.run_files import JOB_STATE
from spark_jobs.transforms.fold_batches import update_of
from spark_jobs.transforms.group_windows import IS_NEW, SAMPLE, with_windows
from spark_jobs.transforms.group_windows import PART as SAMPLES
from spark_jobs.transforms.grouped_batches import Group
from spark_jobs.transforms.plain_rows import plain
from tests.bench.fleet_lake import CLUSTER
from tests.bench.generated_fleet import JOBS_OF_A_CLUSTER, Fleet, cluster_name, job_id_of
from tests.fold.rows import UNREAD, events
from tests.ingest.flink_logs.row_events import event_of

JOB = 0xBEEFCAFE
MINUTES_AT_ONCE = 30
TASKS_TELL_MINUTES = 180
"""Rows of vertices are made for the last minutes only: more than is remembered of them, and most of
the work.
"""
STATE_FILES = 4
PARTS = {
    "answers": "jobs",
    "checkpoints": "checkpoints",
    "vertex_checkpoints": "vertex_checkpoints",
}
"""Part of what is new of a job → table of the lake that its rows are of."""


def state_after(fleet: Fleet, minutes: int) -> bytes:
    """The packed state of one job after so many minutes; the last half hour of them comes minute by
    minute, as cycles have it.
    """
    state = JobState()
    for of_run in _runs(minutes):
        observed = [read for minute in of_run for read in fleet.of_job(CLUSTER, JOB, minute)]
        if minutes - of_run.start > TASKS_TELL_MINUTES:
            observed = [_without_tasks(read) for read in observed]
        result = fold(_news(observed), state, Settings())
        assert isinstance(result, JobResult), result
        state = result.state
    return state.packed()


def write_previous_run(folder: Path, fleet: Fleet, state: bytes, to_seq: dict[str, int]) -> str:
    """A complete run that ended at these commits and remembers ``state`` of every job; returns its
    manifest's path.
    """
    (folder / "jobs").mkdir(parents=True)
    files = []
    for number in range(STATE_FILES):
        files.append(f"jobs/part-{number}.parquet")
        pq.write_table(_states(state, range(number, fleet.jobs, STATE_FILES)), folder / files[-1])
    at = datetime.now(UTC)
    return manifests.write(
        Manifest(
            "cycle",
            "earlier",
            dict.fromkeys(to_seq, 0),
            to_seq,
            {},
            {JOB_STATE: tuple(files)},
            at,
            at,
        ),
        str(folder),
    )


def _states(state: bytes, jobs: range) -> pa.Table:
    numbers = [divmod(job, JOBS_OF_A_CLUSTER) for job in jobs]
    text = ZstdDecompressor().decompress(state).decode()
    return pa.table({
        "cluster": [cluster_name(cluster) for cluster, _ in numbers],
        "job_id": [job_id_of(cluster, job) for cluster, job in numbers],
        "state": pa.array([_of_job(text, cluster, job) for cluster, job in numbers], pa.binary()),
    })  # fmt: skip


def _of_job(text: str, cluster: int, job: int) -> bytes:
    return ZstdCompressor(level=1).compress(
        text.replace(f"{CLUSTER:08x}", f"{cluster:08x}")
        .replace(f"{JOB:08x}", f"{job:08x}")
        .encode()
    )


def _runs(minutes: int) -> Iterator[range]:
    single = minutes - MINUTES_AT_ONCE
    for first in range(0, single, MINUTES_AT_ONCE):
        yield range(first, min(first + MINUTES_AT_ONCE, single))
    for minute in range(single, minutes):
        yield range(minute, minute + 1)


def _without_tasks(read: Observed) -> Observed:
    return replace(
        read,
        records=tuple(
            one for one in read.records if not isinstance(one, VertexCheckpoint | VertexMetrics)
        ),
    )


def _news(observed: Sequence[Observed]) -> JobUpdate:
    """As the cycle makes it: windows and placements out of samples, by the same functions."""
    tables = {
        name: to_arrow(TABLES[name], told, 1) for name, told in group_by_table(observed).items()
    }
    group = Group((cluster_name(CLUSTER), job_id_of(CLUSTER, JOB)))
    for part, table in PARTS.items():
        if table in tables:
            group.parts[part] = [(_plain_rows(tables[table]), _structs(tables[table]))]
    group.parts["events"] = [(told := _events(observed), pa.nulls(len(told), pa.struct([])))]
    if "vertex_metrics" in tables:
        metrics = tables["vertex_metrics"].select([name for name in SAMPLE if name not in UNREAD])
        samples = metrics.append_column(IS_NEW, _all(metrics, True))
        group.parts[SAMPLES] = [([None] * len(samples), _structs(samples))]
    return update_of(next(with_windows([group])))


def _structs(rows: pa.Table) -> pa.StructArray:
    return pa.concat_arrays(rows.to_struct_array().chunks)


def _all(rows: pa.Table, value: bool) -> pa.Array:
    return pa.repeat(pa.scalar(value), len(rows))


def _plain_rows(rows: pa.Table) -> list[Row]:
    columns = {
        name: plain(pa.concat_arrays(rows[name].chunks))
        for name in rows.schema.names
        if name not in UNREAD
    }
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _events(observed: Sequence[Observed]) -> list[Row]:
    found = [
        (event, read)
        for read in observed
        for record in read.records
        if isinstance(record, LogRecord)
        if (event := event_of(record))
    ]
    told = [
        {name: getattr(event, name) for name in event.__slots__} | {"observed_at": read.observed_at}
        for event, read in found
    ]
    return events([{name: _epoch_ms(value) for name, value in row.items()} for row in told])


def _epoch_ms(value: Any) -> Any:
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else value
