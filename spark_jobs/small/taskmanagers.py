"""Samples of TaskManagers brought to jobs, over plain rows; what :mod:`spark_jobs.transforms.taskmanagers` gives."""

from collections.abc import Iterable

import pyarrow as pa

from spark_jobs.small.rows import Row
from spark_jobs.step_schemas import TASKMANAGER


def of_jobs(samples: Iterable[Row]) -> pa.Table:
    found = [{**row, "job_id": job_id} for row in samples for job_id in {slot["job_id"] for slot in row["allocated_slots"] or ()}]
    return pa.Table.from_pylist(found, TASKMANAGER)
