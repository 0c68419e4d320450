"""The restores of a job: observed ones, and estimates for now."""

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from ingest.errors import IngestError
from ingest.flink_rest.versions import release
from ingest.messages import message
from spark_jobs.diagnosis.operator_growth import Growth, growth
from spark_jobs.diagnosis.storage_samples import OperatorStateTrend
from webapp.analyses.starts.job_starts import Restored, Start, job_starts
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.outages import DATED_WITHIN, outages
from webapp.fleet.models import JobCurrent, JobStart
from webapp.lib.outage import Outage
from webapp.storage.operator_growth import operator_trends
from webapp.storage.xray import xray_reader
from webapp.storage.xray.contents import Xray
from webapp.storage.xray.location import NotLocated, find_metadata

HISTORY = timedelta(days=30)
MOST_OBSERVED = 200
_JOB_IN_PATH = re.compile(r"/([0-9a-f]{32})/chk-\d+")
CHECKPOINT, SAVEPOINT, LOCAL = "checkpoint", "savepoint", "local"


@dataclass(frozen=True)
class ObservedRestore:
    """The restore of a start, the last one if the start took several restarts. ``restore_ms``: from
    the first task that reads state until all run. ``checkpoint_id``: None if unknown.
    """

    at: datetime
    kind: str
    checkpoint_id: int | None
    restore_ms: float
    downtime_ms: float | None
    state_bytes: int | None
    lost_taskmanagers: int


def recent_outages(job: JobCurrent, until: datetime) -> list[tuple[Outage, int]]:
    """(outage, number of lost TaskManagers), oldest first."""
    since = until - HISTORY
    recent = outages(job, since, until)[-MOST_OBSERVED:]
    starts = JobStart.objects.filter(**job.identity, begun_at__gte=since, lost_taskmanagers__gt=0)
    losses = [
        (start.begun_at, start.lost_taskmanagers or 0)
        for start in starts.only("begun_at", "lost_taskmanagers").order_by("-at")[:MOST_OBSERVED]
    ]
    return [
        (outage, sum(count for at, count in losses if at and abs(at - outage.at) < DATED_WITHIN))
        for outage in recent
    ]


def observed_restores(job: JobCurrent, local: bool, until: datetime) -> tuple[ObservedRestore, ...]:
    """Restores of starts with a restore phase, newest first."""
    starts = [
        (start, start.restored, start.phase_of["restore"].duration_ms)
        for start in job_starts(job, until - HISTORY, until, MOST_OBSERVED).starts
        if start.restored is not None and "restore" in start.phase_of
    ]
    sizes = _sizes(job, [snapshot for _, snapshot, _ in starts])
    return tuple(
        ObservedRestore(
            start.begun_at or start.at,
            _restore_kind(start, snapshot, local),
            snapshot.checkpoint_id,
            restore_ms,
            start.downtime_ms,
            sizes.get(snapshot),
            start.lost_taskmanagers or 0,
        )
        for start, snapshot, restore_ms in starts
    )


def _restore_kind(start: Start, snapshot: Restored, local: bool) -> str:
    if snapshot.is_savepoint:
        return SAVEPOINT
    is_local = local and start.kind != "start" and not start.lost_taskmanagers
    return LOCAL if is_local else CHECKPOINT


def _sizes(job: JobCurrent, snapshots: Iterable[Restored]) -> dict[Restored, int | None]:
    """Sizes of snapshots with a known id."""
    owners: dict[Restored, str] = {}
    for snapshot in snapshots:
        if snapshot.checkpoint_id is not None:
            match = _JOB_IN_PATH.search(snapshot.path or "")
            owners[snapshot] = match[1] if match else job.job_id
    rows = CheckpointFact.objects.filter(
        cluster=job.cluster,
        job_id__in=set(owners.values()),
        outcome="completed",
        checkpoint_id__in={snapshot.checkpoint_id for snapshot in owners},
    ).order_by("trigger_time")
    sizes: dict[tuple[str, int | None], int | None] = {
        (job_id, checkpoint_id): size
        for job_id, checkpoint_id, size in rows.values_list(
            "job_id", "checkpoint_id", "state_bytes"
        )
    }
    return {
        snapshot: sizes.get((owner, snapshot.checkpoint_id)) for snapshot, owner in owners.items()
    }


@dataclass(frozen=True)
class RestoreRange:
    """``expected_ms``: the median of observations, scaled up (never down) to the present size."""

    least_ms: float
    expected_ms: float
    most_ms: float
    observations: int


def restore_range(
    observed: Sequence[tuple[float, int | None]], size_bytes: int | None
) -> RestoreRange | None:
    """``observed``: (ms, bytes) of restores of one kind. None if no size is known."""
    if size_bytes is None:
        return None
    ratios = [(ms, size_bytes / size) for ms, size in observed if size]
    if not ratios:
        return None
    return RestoreRange(
        least_ms=min(ms * min(ratio, 1) for ms, ratio in ratios),
        expected_ms=median(ms * max(ratio, 1) for ms, ratio in ratios),
        most_ms=max(ms * max(ratio, 1) for ms, ratio in ratios),
        observations=len(ratios),
    )


@dataclass(frozen=True)
class UnionReads:
    """Operator state in UNION mode: each of ``parallelism`` subtasks reads all ``files`` in turn.
    State within the ``_metadata`` is sent with deployments instead.
    """

    operator_id: str
    operator: str
    parallelism: int
    files: int
    reads: int
    read_bytes: int


@dataclass(frozen=True)
class OperatorState:
    """Operator state in the newest audited checkpoint; ``growth`` over the same parallelism."""

    trend: OperatorStateTrend
    growth: Growth | None

    @property
    def name(self) -> str:
        return self.trend.name or self.trend.operator_id

    @property
    def restores(self) -> int:
        """At least this many restores multiplied its union elements."""
        return self.growth.restores if self.growth else 0

    @property
    def handed_out(self) -> int:
        """Union elements that one restore sends to all subtasks together."""
        return self.trend.newest.union_elements * self.trend.newest.subtasks


log = logging.getLogger(__name__)

_LOCAL_SETTINGS = ("execution.state-recovery.from-local", "state.backend.local-recovery")
SPLIT_SETTINGS = (1, 20)
"""From this release on, reading and writing local state are two settings."""
_NONE_COMPLETED = {
    CHECKPOINT: message("No completed checkpoint is known."),
    SAVEPOINT: message("No completed savepoint is known."),
}


@dataclass(frozen=True)
class Choice:
    """A snapshot to restore from. ``files``: None if its ``_metadata`` was not read.
    ``largest_bytes``: the subtask with most state, which the restore waits for. ``estimate``: None
    if no restore of this kind was observed with its size.
    """

    kind: str
    checkpoint_id: int | None
    at: datetime | None
    path: str | None
    state_bytes: int | None
    files: int | None
    file_bytes: int | None
    largest_bytes: int | None
    estimate: RestoreRange | None


@dataclass(frozen=True)
class JobRestores:
    """``local_recovery``: None if unknown. ``local_setting``: options that enable it.
    ``unions`` of the checkpoint ``unions_of``. ``operator_states``: most elements first.
    """

    local_recovery: bool | None
    local_setting: str
    observed: tuple[ObservedRestore, ...]
    choices: tuple[Choice, ...]
    unions: tuple[UnionReads, ...]
    unions_of: int | None
    unknown: tuple[str, ...]
    operator_states: tuple[OperatorState, ...]


def job_restores(job: JobCurrent, until: datetime) -> JobRestores:
    """Restores before ``until``, by about ten queries and at most two ``_metadata`` files."""
    unknown: list[str] = []
    local = local_recovery(job.configuration)
    observed = observed_restores(job, bool(local), until)
    if not observed:
        unknown.append(
            message(
                "No restore of the last {days:number} days is known with its duration: REST and "
                "the log of the JobManager report it once all tasks run.",
                days=HISTORY.days,
            )
        )
    choices: list[Choice] = []
    unions: tuple[UnionReads, ...] = ()
    unions_of = None
    for kind in (CHECKPOINT, SAVEPOINT):
        fact = _newest(job, kind)
        if fact is None:
            unknown.append(_NONE_COMPLETED[kind])
            continue
        xray = _xray(fact, unknown)
        if kind == CHECKPOINT and xray is not None:
            unions, unions_of = _unions(xray, job), fact.checkpoint_id
        choices.append(_choice(kind, fact, xray, observed))
        if kind == CHECKPOINT:
            choices.append(_local_choice(choices[-1], observed))
    is_split = (release(job.flink_version) or SPLIT_SETTINGS) >= SPLIT_SETTINGS
    setting = f"{_LOCAL_SETTINGS[0 if is_split else 1]}: true"
    if is_split:
        setting += ", execution.checkpointing.local-backup.enabled: true"
    states = tuple(
        OperatorState(trend, growth(trend)) for trend in operator_trends(job.cluster, job.job_id)
    )
    return JobRestores(
        local, setting, observed, tuple(choices), unions, unions_of, tuple(unknown), states
    )


def local_recovery(configuration: Mapping[str, Any] | None) -> bool | None:
    """Whether local recovery is enabled; None if the configuration is unknown."""
    if not configuration:
        return None
    return any(str(configuration.get(key) or "").lower() == "true" for key in _LOCAL_SETTINGS)


def _newest(job: JobCurrent, kind: str) -> CheckpointFact | None:
    rows = CheckpointFact.objects.filter(**job.identity, outcome="completed")
    rows = rows.filter(is_savepoint=True) if kind == SAVEPOINT else rows.exclude(is_savepoint=True)
    return rows.order_by("-trigger_time", "-id").first()


def _xray(fact: CheckpointFact, unknown: list[str]) -> Xray | None:
    template = "Savepoint {id:number}" if fact.is_savepoint else "Checkpoint {id:number}"
    name = message(template, id=fact.checkpoint_id)
    if not fact.external_path:
        unknown.append(
            message(
                "{name:message} reports no place of its own, so its files are not known.", name=name
            )
        )
        return None
    try:
        return xray_reader.xray(find_metadata(fact.external_path))
    except FileNotFoundError:
        unknown.append(
            message(
                "{name:message} is not there any more: a newer one has replaced it, or it was "
                "removed.",
                name=name,
            )
        )
    except NotLocated as error:
        unknown.append(str(error))
    except (IngestError, OSError) as error:
        log.warning("%s of %s could not be read: %s", name, fact.job_id, error)
        unknown.append(
            message("{name:message} could not be read: {error:text}", name=name, error=str(error))
        )
    return None


def _choice(
    kind: str, fact: CheckpointFact, xray: Xray | None, observed: Sequence[ObservedRestore]
) -> Choice:
    size = xray.state_bytes if xray else fact.state_bytes
    largest = [operator.largest_bytes for operator in xray.operators] if xray else []
    return Choice(
        kind=kind,
        checkpoint_id=fact.checkpoint_id,
        at=fact.trigger_time,
        path=fact.external_path,
        state_bytes=size,
        files=xray.files if xray else None,
        file_bytes=xray.file_bytes if xray else None,
        largest_bytes=max(largest, default=None),
        estimate=restore_range(_times_and_sizes(observed, kind), size),
    )


def _local_choice(checkpoint: Choice, observed: Sequence[ObservedRestore]) -> Choice:
    estimate = restore_range(_times_and_sizes(observed, LOCAL), checkpoint.state_bytes)
    return replace(checkpoint, kind=LOCAL, path=None, files=0, file_bytes=0, estimate=estimate)


def _times_and_sizes(
    observed: Iterable[ObservedRestore], kind: str
) -> list[tuple[float, int | None]]:
    return [
        (restore.restore_ms, restore.state_bytes) for restore in observed if restore.kind == kind
    ]


def _unions(xray: Xray, job: JobCurrent) -> tuple[UnionReads, ...]:
    names = job.vertex_names
    states_by_operator = defaultdict(list)
    for state in xray.states:
        if state.mode == "UNION":
            states_by_operator[state.operator_id].append(state)
    unions = []
    for operator_id, states in states_by_operator.items():
        widest = max(states, key=lambda state: state.subtasks)
        files = max(state.files for state in states)
        unions.append(
            UnionReads(
                operator_id,
                widest.operator_name or names.get(operator_id) or operator_id,
                widest.parallelism,
                files,
                reads=widest.parallelism * files,
                read_bytes=max(state.restore_bytes for state in states),
            )
        )
    unions.sort(key=lambda union: (-union.reads, -union.read_bytes, union.operator_id))
    return tuple(unions)
