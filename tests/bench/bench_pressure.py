"""Pressure windows of 2,000 jobs × 5 vertices × 8 subtasks, two samples each: rows a second, and
linear in the rows.
"""

import random
import time
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from ingest.lake.tables import TABLES
from spark_jobs.transforms.pressure_arrays import ORDER, READ, windows
from tests.bench.harness import Report

JOBS, VERTICES, SUBTASKS, SAMPLES = 2000, 5, 8, 2
AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
RUNS = 3


def run(report: Report) -> None:
    whole, half = samples(JOBS), samples(JOBS // 2)
    half_s = min(seconds(half) for _ in range(RUNS))
    whole_s = min(seconds(whole) for _ in range(RUNS))
    made = JOBS * VERTICES
    report(
        f"pressure windows, {made:,} vertices × {SUBTASKS} subtasks",
        made / whole_s,
        "rows/s",
        at_least=2000,
    )
    report("pressure windows, twice the jobs", whole_s, "s", baseline=half_s, budget=2.5)


def seconds(samples: pa.RecordBatch) -> float:
    """Wall time of all windows in one process."""
    started = time.monotonic()
    windows(samples)
    return time.monotonic() - started


def samples(jobs: int) -> pa.RecordBatch:
    """Lake rows as the collector writes them."""
    chance = random.Random(1)
    names = (
        "in_pool_usage",
        "out_pool_usage",
        "floating_usage",
        "busy_ms_per_s",
        "backpressured_ms_per_s",
        "idle_ms_per_s",
    )
    rows = []
    for job in range(jobs):
        for vertex in range(VERTICES):
            for sample in range(SAMPLES):
                ts = AT + timedelta(seconds=30 * sample)
                arrays = {
                    name: [chance.random() for _ in range(SUBTASKS)]
                    for name in (*names, "records_in_per_s", "records_out_per_s")
                }
                states = {"task_state": ["RUNNING"] * SUBTASKS, "parallelism": SUBTASKS}
                key = {
                    "cluster": "c",
                    "job_id": f"{job:032x}",
                    "vertex_id": f"{vertex:032x}",
                    "ts": ts,
                    "observed_at": ts,
                }
                rows.append(
                    key | arrays | states | {"source": "rest", "commit_seq": 1, "date": AT.date()}
                )
    table = pa.Table.from_pylist(rows, schema=TABLES["vertex_metrics"].schema).select(list(READ))
    return table.sort_by([(name, "ascending") for name in ORDER]).combine_chunks().to_batches()[0]
