"""The names that Flink's Prometheus reporter gives to Weir's metrics.

It joins scope and name by ``_`` behind ``flink_``, replaces every other character than letters,
digits, ``_`` and ``:``, and makes labels of the scope's variables. Source:
``AbstractPrometheusReporter`` of Flink 1.12 to 2.3.
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
"""The time that the job has been in that state, 0 if it is in another (1.15+)."""

_STATE_NAMES: Names = {name: (name,) for name in STATES}


def spelled(prefix: str, name: str) -> str:
    return prefix + re.sub(r"[^a-zA-Z0-9_:]", "_", name)


def known(prefix: str, names: Names) -> dict[str, tuple[str, int]]:
    """Reporter's name → our column, and the rank of this spelling: the lowest wins."""
    return {
        spelled(prefix, spelling): (column, rank)
        for column, spellings in names.items()
        for rank, spelling in enumerate(spellings)
    }


TASK_NAMES = known(TASK, SUBTASK_METRICS | COUNTERS) | known(TASK + "operator_", SOURCE_METRICS)
JOB_NAMES = known(JOB, JOB_COUNTS | _STATE_NAMES)
_SAMPLED = {field.name for field in fields(TaskManager)}
TASKMANAGER_NAMES = known(
    TASKMANAGER,
    {column: names for column, names in TASKMANAGER_METRICS.items() if column in _SAMPLED},
)


def number_in(label: str | None) -> int | None:
    return int(label) if label and label.isascii() and label.isdigit() and len(label) <= 9 else None


def selector(names: Iterable[str], scope: str, job_id: str = "") -> str:
    """Series of any of these names, within ``scope`` (matchers such as ``namespace="flink"``)."""
    matchers = [
        f'__name__=~"{"|".join(names)}"',
        f'job_id="{job_id}"' if job_id else "",
        scope.strip().strip("{}").strip().rstrip(","),
    ]
    return "{" + ",".join(matcher for matcher in matchers if matcher) + "}"
