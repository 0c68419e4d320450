"""Operator state of a job by operator, with how it grew: what page, API and command show of :mod:`webapp.storage.operator_growth`."""

from dataclasses import dataclass
from datetime import UTC, datetime

from spark_jobs.diagnosis.operator_growth import OFFSET_BYTES, growth
from spark_jobs.diagnosis.storage_samples import OperatorStateTrend
from webapp.fleet.models import JobCurrent
from webapp.storage.operator_growth import operator_trends

MOST_BARS = 60
BAR_PX = 30


@dataclass(frozen=True)
class InCheckpoint:
    """``share``: elements, or bytes where there are none, of the most that are shown; 0…1."""

    at: datetime
    checkpoint_id: int | None
    job_id: str
    subtasks: int
    operator_bytes: int
    keyed_bytes: int
    elements: int
    union_elements: int
    share: float

    @property
    def height_px(self) -> int:
        return max(round(self.share * BAR_PX), 1)

    @property
    def top_px(self) -> int:
        return BAR_PX - self.height_px


@dataclass(frozen=True)
class NamedList:
    name: str
    mode: str
    elements: int


@dataclass(frozen=True)
class OperatorState:
    """``ratio`` against the oldest checkpoint with as many subtasks, ``since``; both None where there is none. ``restores``: that
    multiplied its union elements, at least. ``handed_out``: union elements that one restore gives to all subtasks together."""

    operator_id: str
    name: str
    newest: InCheckpoint
    offset_bytes: int
    handed_out: int
    files: int
    ratio: float | None
    since: int | None
    restores: int
    states: tuple[NamedList, ...]
    checkpoints: tuple[InCheckpoint, ...]

    @property
    def bars(self) -> tuple[InCheckpoint, ...]:
        return self.checkpoints[-MOST_BARS:]


def operator_states(job: JobCurrent) -> tuple[OperatorState, ...]:
    """Those with most elements first; empty where no audit has met operator state worth a row."""
    return tuple(_state(trend) for trend in operator_trends(job.cluster, job.job_id))


def _state(trend: OperatorStateTrend) -> OperatorState:
    grown = growth(trend)
    by_elements = any(point.elements for point in trend.points)
    sizes = [point.elements if by_elements else point.operator_bytes for point in trend.points]
    most = max(*sizes, 1)
    points = tuple(
        InCheckpoint(
            at=datetime.fromtimestamp(point.at_ms / 1000, UTC),
            checkpoint_id=point.checkpoint_id,
            job_id=point.job_id,
            subtasks=point.subtasks,
            operator_bytes=point.operator_bytes,
            keyed_bytes=point.keyed_bytes,
            elements=point.elements,
            union_elements=point.union_elements,
            share=size / most,
        )
        for point, size in zip(trend.points, sizes, strict=True)
    )
    newest = trend.newest
    return OperatorState(
        operator_id=trend.operator_id,
        name=trend.name,
        newest=points[-1],
        offset_bytes=newest.elements * OFFSET_BYTES,
        handed_out=newest.union_elements * newest.subtasks,
        files=trend.files,
        ratio=grown.ratio if grown else None,
        since=grown.since.checkpoint_id if grown else None,
        restores=grown.restores if grown else 0,
        states=tuple(NamedList(*one) for one in trend.states),
        checkpoints=points,
    )
