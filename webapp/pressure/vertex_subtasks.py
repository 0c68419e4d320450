"""What each subtask of a vertex did when it was sampled last: where it runs, its time, pools and
records. Read from the lake, bounded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from webapp.work.lake import read_newest

LOOK_BACK = timedelta(minutes=15)
MOST_SAMPLES = 20
_MEASURED = (
    "in_pool_usage",
    "out_pool_usage",
    "busy_ms_per_s",
    "backpressured_ms_per_s",
    "records_in_per_s",
    "records_out_per_s",
    "attempt",
    "host",
    "taskmanager_id",
    "task_state",
)


@dataclass(frozen=True)
class SubtaskSample:
    """``None``: Flink did not say.

    Usages are ratios. ``over_median``: records in, over those of the median subtask.
    """

    subtask: int
    in_pool_usage: float | None
    out_pool_usage: float | None
    busy_ms_per_s: float | None
    backpressured_ms_per_s: float | None
    records_in_per_s: float | None
    records_out_per_s: float | None
    attempt: int | None
    host: str | None
    taskmanager_id: str | None
    task_state: str | None
    over_median: float | None


SORTS = {
    "busy": "busy_ms_per_s",
    "back-pressured": "backpressured_ms_per_s",
    "in": "in_pool_usage",
    "out": "out_pool_usage",
    "records": "records_in_per_s",
    "subtask": "subtask",
}
"""Parameter → column, the largest first; subtasks in their order."""


@dataclass(frozen=True)
class VertexSample:
    at: datetime | None
    subtasks: list[SubtaskSample]


def newest_sample(cluster: str, job_id: str, vertex_id: str, until: datetime) -> VertexSample:
    """The newest sample in the quarter of an hour before ``until``; empty where there is none.

    Raises what the storage raises.
    """
    where = {"cluster": cluster, "job_id": job_id, "vertex_id": vertex_id}
    table, _since = read_newest(
        "vertex_metrics", where, until - LOOK_BACK, until, ("ts", *_MEASURED), MOST_SAMPLES
    )
    rows = table.to_pylist()
    if not rows:
        return VertexSample(None, [])
    newest = max(rows, key=lambda row: row["ts"])
    return VertexSample(newest["ts"], _subtasks(newest))


def in_order(subtasks: Sequence[SubtaskSample], by: str) -> list[SubtaskSample]:
    """By a key of :data:`SORTS`; those that Flink reported nothing of come last."""
    column = SORTS[by]
    if column == "subtask":
        return list(subtasks)
    return sorted(
        subtasks,
        key=lambda subtask: (
            getattr(subtask, column) is None,
            -(getattr(subtask, column) or 0),
            subtask.subtask,
        ),
    )


def _subtasks(row: Mapping[str, Any]) -> list[SubtaskSample]:
    count = max((len(row[name]) for name in _MEASURED if row[name]), default=0)
    columns = {
        name: [*(row[name] or ()), *[None] * (count - len(row[name] or ()))] for name in _MEASURED
    }
    known = [rate for rate in columns["records_in_per_s"] if rate is not None]
    middle = median(known) if known else 0
    over = [
        rate / middle if rate is not None and middle else None
        for rate in columns["records_in_per_s"]
    ]
    return [
        SubtaskSample(
            subtask=number,
            over_median=over[number],
            **{name: columns[name][number] for name in _MEASURED},
        )
        for number in range(count)
    ]
