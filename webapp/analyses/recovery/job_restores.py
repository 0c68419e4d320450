"""The restores of one job: those that were observed, and what one would take now."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest.errors import IngestError
from ingest.flink_rest.versions import release
from ingest.messages import message
from webapp.analyses.recovery.observed_restores import (
    CHECKPOINT,
    HISTORY,
    LOCAL,
    SAVEPOINT,
    ObservedRestore,
    observed_restores,
)
from webapp.analyses.recovery.operator_states import OperatorState, operator_states
from webapp.analyses.recovery.restore_time import RestoreRange, UnionReads, restore_range
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.storage.xray import xray_cache
from webapp.storage.xray.contents import Xray
from webapp.storage.xray.location import NotLocated, located

log = logging.getLogger(__name__)

_LOCAL_SETTINGS = ("execution.state-recovery.from-local", "state.backend.local-recovery")
SPLIT_SETTINGS = (1, 20)
"""Since when reading local state and writing it are two settings."""
_NONE_COMPLETED = {
    CHECKPOINT: message("No completed checkpoint is known."),
    SAVEPOINT: message("No completed savepoint is known."),
}


@dataclass(frozen=True)
class Choice:
    """One thing that the job could be restored from now. ``files`` None where its ``_metadata`` was
    not read; ``largest_bytes``: of the subtask with most state, which the restore waits for.
    ``estimate`` None where no restore of this kind was observed.
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
    """``local_recovery``: whether it is switched on, None where settings are not known;
    ``local_setting``: what switches it on.
    """

    job: JobCurrent
    local_recovery: bool | None
    local_setting: str
    observed: tuple[ObservedRestore, ...]
    choices: tuple[Choice, ...]
    unions: tuple[UnionReads, ...]
    unions_of: int | None
    unknown: tuple[str, ...]
    operator_states: tuple[OperatorState, ...]


def job_restores(job: JobCurrent, until: datetime) -> JobRestores:
    """Restores of the time before ``until``; about 10 queries, two ``_metadata`` files and the
    newest samples at most.
    """
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
    of = None
    for kind in (CHECKPOINT, SAVEPOINT):
        fact = _newest(job, kind)
        if fact is None:
            unknown.append(_NONE_COMPLETED[kind])
            continue
        xray = _xray(fact, unknown)
        if kind == CHECKPOINT and xray is not None:
            unions, of = _unions(xray, job), fact.checkpoint_id
        choices.append(_choice(kind, fact, xray, observed))
        if kind == CHECKPOINT:
            choices.append(_local(choices[-1], observed))
    setting = (
        _LOCAL_SETTINGS[0]
        if (release(job.flink_version) or SPLIT_SETTINGS) >= SPLIT_SETTINGS
        else _LOCAL_SETTINGS[1]
    )
    written = (
        ", execution.checkpointing.local-backup.enabled: true"
        if setting == _LOCAL_SETTINGS[0]
        else ""
    )
    states, local_setting = operator_states(job), f"{setting}: true{written}"
    return JobRestores(
        job, local, local_setting, observed, tuple(choices), unions, of, tuple(unknown), states
    )


def local_recovery(configuration: Mapping[str, Any] | None) -> bool | None:
    """Off by default; None where nothing of the configuration is known."""
    if not configuration:
        return None
    return any(str(configuration.get(key) or "").lower() == "true" for key in _LOCAL_SETTINGS)


def _newest(job: JobCurrent, kind: str) -> CheckpointFact | None:
    rows = CheckpointFact.objects.filter(
        cluster=job.cluster, job_id=job.job_id, outcome="completed"
    )
    rows = rows.filter(is_savepoint=True) if kind == SAVEPOINT else rows.exclude(is_savepoint=True)
    return rows.order_by("-trigger_time", "-id").first()


def _xray(fact: CheckpointFact, unknown: list[str]) -> Xray | None:
    shown = "Savepoint {id:number}" if fact.is_savepoint else "Checkpoint {id:number}"
    name = message(shown, id=fact.checkpoint_id)
    if not fact.external_path:
        unknown.append(
            message(
                "{name:message} reports no place of its own, so its files are not known.", name=name
            )
        )
        return None
    try:
        return xray_cache.xray(located(fact.external_path))
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
    largest = (
        (
            subtask_bytes.state_bytes
            for operator in xray.operators
            for subtask_bytes in operator.largest[:1]
        )
        if xray
        else ()
    )
    return Choice(
        kind=kind,
        checkpoint_id=fact.checkpoint_id,
        at=fact.trigger_time,
        path=fact.external_path,
        state_bytes=size,
        files=xray.files if xray else None,
        file_bytes=xray.file_bytes if xray else None,
        largest_bytes=max(largest, default=None),
        estimate=restore_range(_times(observed, kind), size),
    )


def _local(remote: Choice, observed: Sequence[ObservedRestore]) -> Choice:
    return Choice(
        kind=LOCAL,
        checkpoint_id=remote.checkpoint_id,
        at=remote.at,
        path=None,
        state_bytes=remote.state_bytes,
        files=0,
        file_bytes=0,
        largest_bytes=remote.largest_bytes,
        estimate=restore_range(_times(observed, LOCAL), remote.state_bytes),
    )


def _times(observed: Iterable[ObservedRestore], kind: str) -> list[tuple[float, int | None]]:
    return [
        (restore.restore_ms, restore.state_bytes) for restore in observed if restore.kind == kind
    ]


def _unions(xray: Xray, job: JobCurrent) -> tuple[UnionReads, ...]:
    names = {
        one.get("vertex_id"): one.get("name") for one in ((job.graph or {}).get("vertices") or ())
    }
    of_operator = defaultdict(list)
    for state in xray.states:
        if state.mode == "UNION":
            of_operator[state.operator_id].append(state)
    unions = []
    for operator_id, states in of_operator.items():
        widest = max(states, key=lambda state: state.subtasks)
        name = widest.operator_name or names.get(operator_id) or ""
        handles, files = widest.subtasks, max(state.files for state in states)
        read_bytes = max(state.restore_bytes for state in states)
        unions.append(
            UnionReads(
                operator_id=operator_id,
                operator=name,
                states=tuple(state.name for state in states),
                parallelism=widest.parallelism,
                files=files,
                inline=handles - files,
                reads=widest.parallelism * files,
                read_bytes=read_bytes,
            )
        )
    return tuple(sorted(unions, key=lambda one: (-one.reads, -one.read_bytes, one.operator_id)))
