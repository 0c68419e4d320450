"""The names that Flink's Prometheus reporter gives to Weir's metrics.

The reporter joins ``flink``, scope and name by ``_``, and replaces all but letters, digits, ``_``
and ``:`` by ``_``. Variables of the scope become labels. Source: ``AbstractPrometheusReporter`` of
Flink 1.12 to 2.3.
"""

import re
from collections.abc import Iterable
from dataclasses import fields

from ingest.flink_rest.metric_names import (
    SOURCE_METRICS,
    SUBTASK_METRICS,
    TASKMANAGER_METRICS,
    Names,
)
from ingest.records import TaskManager

TASK = "flink_taskmanager_job_task_"
JOB = "flink_jobmanager_job_"
TASKMANAGER = "flink_taskmanager_"

COUNTERS: Names = {"records_in": ("numRecordsIn",), "records_out": ("numRecordsOut",)}
JOB_COUNTS: Names = {
    "restarts": ("numRestarts", "fullRestarts"),
    "checkpoints_total": ("totalNumberOfCheckpoints",),
    "checkpoints_completed": ("numberOfCompletedCheckpoints",),
    "checkpoints_failed": ("numberOfFailedCheckpoints",),
    "checkpoints_in_progress": ("numberOfInProgressCheckpoints",),
}
STATES = {
    "initializingTime": "INITIALIZING",
    "createdTime": "CREATED",
    "runningTime": "RUNNING",
    "failingTime": "FAILING",
    "cancellingTime": "CANCELLING",
    "restartingTime": "RESTARTING",
}
"""Metric of the time that the job has been in a state, 0 if it is in another (1.15+) → state."""

_STATE_NAMES: Names = {name: (name,) for name in STATES}


def reporter_name(prefix: str, name: str) -> str:
    return prefix + re.sub(r"[^a-zA-Z0-9_:]", "_", name)


def columns_by_name(prefix: str, names: Names) -> dict[str, tuple[str, int]]:
    """Name → column, and rank of the spelling: the lowest rank with a value is used."""
    return {
        reporter_name(prefix, spelling): (column, rank)
        for column, spellings in names.items()
        for rank, spelling in enumerate(spellings)
    }


TASK_NAMES = columns_by_name(TASK, SUBTASK_METRICS | COUNTERS) | columns_by_name(
    TASK + "operator_", SOURCE_METRICS
)
JOB_NAMES = columns_by_name(JOB, JOB_COUNTS | _STATE_NAMES)
_TASKMANAGER_FIELDS = {field.name for field in fields(TaskManager)}
TASKMANAGER_NAMES = columns_by_name(
    TASKMANAGER,
    {
        column: names
        for column, names in TASKMANAGER_METRICS.items()
        if column in _TASKMANAGER_FIELDS
    },
)


def number_in(label: str | None) -> int | None:
    return int(label) if label and label.isascii() and label.isdigit() and len(label) <= 9 else None


def selector(names: Iterable[str], scope: str, job_id: str = "") -> str:
    matchers = [
        f'__name__=~"{"|".join(names)}"',
        f'job_id="{job_id}"' if job_id else "",
        scope.strip().strip("{}").strip().rstrip(","),
    ]
    return "{" + ",".join(matcher for matcher in matchers if matcher) + "}"
