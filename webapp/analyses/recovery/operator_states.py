"""Operator state of a job by operator, with how it grew, by
:mod:`webapp.storage.operator_growth`.
"""

from dataclasses import dataclass

from spark_jobs.diagnosis.operator_growth import growth
from spark_jobs.diagnosis.storage_samples import OperatorStateTrend
from webapp.fleet.models import JobCurrent
from webapp.storage.operator_growth import operator_trends


@dataclass(frozen=True)
class OperatorState:
    """In the newest checkpoint that an audit read. ``restores``: that multiplied its union
    elements, at least.

    ``ratio`` against the oldest checkpoint with as many subtasks, ``since``; both None where there
    is none. ``handed_out``: union elements that one restore gives to all subtasks together.
    ``keyed_bytes`` of the same operator.
    """

    operator_id: str
    name: str
    states: tuple[str, ...]
    subtasks: int
    elements: int
    operator_bytes: int
    keyed_bytes: int
    handed_out: int
    ratio: float | None
    since: int | None
    restores: int


def operator_states(job: JobCurrent) -> tuple[OperatorState, ...]:
    """Those with most elements first; empty where no audit has met operator state worth a row."""
    return tuple(_state(trend) for trend in operator_trends(job.cluster, job.job_id))


def _state(trend: OperatorStateTrend) -> OperatorState:
    grown, newest = growth(trend), trend.newest
    return OperatorState(
        operator_id=trend.operator_id,
        name=trend.name,
        states=tuple(name for name, _mode, _elements in trend.states),
        subtasks=newest.subtasks,
        elements=newest.elements,
        operator_bytes=newest.operator_bytes,
        keyed_bytes=newest.keyed_bytes,
        handed_out=newest.union_elements * newest.subtasks,
        ratio=grown.ratio if grown else None,
        since=grown.since.checkpoint_id if grown else None,
        restores=grown.restores if grown else 0,
    )
