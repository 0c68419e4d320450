"""Which jobs have a complete copy of a checkpoint on another storage, how old it is, what a move of
the others would take, and whose settings are below the fleet's policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ingest.metadata.files import NAME
from ingest.uris import BadUri, canonical
from spark_jobs.diagnosis import fleet_policy
from spark_jobs.diagnosis.fleet_policy import Breach
from spark_jobs.diagnosis.rules.replication_lag import BEHIND
from spark_jobs.diagnosis.thresholds import Limits
from spark_jobs.fold.rule_evaluation import Settings
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.overrides import as_plain
from webapp.fleet.models import OVER, JobCurrent
from webapp.replication.models import Replica
from webapp.replication.storages import CopyRate, copy_rates, storage_of
from webapp.storage.auditing.audit_request import spellings
from webapp.storage.idle_snapshots import age_ms
from webapp.storage.models import CheckpointStorage
from webapp.storage.newest_audits import latest_audits

State = Literal["none", "same_storage", "late", "unknown", "ready"]
WORST_FIRST: Sequence[State] = ("none", "same_storage", "late", "unknown", "ready")
ROWS_AT_ONCE = 2_000
Key = tuple[str, str]
_JOB = (
    "cluster",
    "job_id",
    "name",
    "last_completed_path",
    "checkpoint_interval_ms",
    "checkpoint_config",
)
_SNAPSHOT = (
    "cluster",
    "job_id",
    "checkpoint_id",
    "metadata_path",
    "metadata_bytes",
    "modified",
    "is_savepoint",
    "files",
    "bytes",
    "missing_files",
    "resolvable",
    "self_contained",
    "relocatable",
)


@dataclass(frozen=True)
class Snapshot:
    """One that the newest audit found whole. ``files`` and ``size_bytes`` with its ``_metadata``,
    of whatever job they are. ``self_contained``: none of them is of another job. ``relocatable``:
    its paths are relative, so that any tool may copy it.
    """

    location: str
    storage: str
    checkpoint_id: int
    written: datetime | None
    is_savepoint: bool
    files: int
    size_bytes: int
    self_contained: bool
    relocatable: bool


@dataclass(frozen=True)
class Copy:
    """A complete one on ``storage``. ``recovery_point``: what came in after it would be lost."""

    location: str
    storage: str
    recovery_point: datetime | None


@dataclass(frozen=True)
class JobReadiness:
    """``copy``: the newest on another storage, else one on the same. ``allowed_ms``: how old its
    recovery point may be. ``newest``: what a move would take, which lasts ``move_ms`` at the rate
    that was measured of its storage. ``relocatable_age_ms``: since the newest snapshot was written
    that is relocatable. ``has_settings``: those of its checkpoints were seen. ``broken``: below the
    fleet's policy, or not known to keep it.
    """

    cluster: str
    job_id: str
    name: str
    storage: str
    state: State
    copy: Copy | None
    age_ms: float | None
    allowed_ms: float
    newest: Snapshot | None
    relocatable_age_ms: float | None
    move_ms: float | None
    has_settings: bool
    broken: tuple[Breach, ...]


@dataclass(frozen=True)
class StorageReadiness:
    """Sums over the jobs of one storage whose newest snapshot is known, copied one after the other."""

    storage: str
    jobs: int
    ready: int
    known: int
    files: int
    size_bytes: int
    rate: CopyRate | None

    @property
    def move_ms(self) -> float | None:
        return self.rate.duration_ms(self.files, self.size_bytes) if self.rate else None


@dataclass(frozen=True)
class FleetReadiness:
    """``jobs``: that have not ended, worst first. ``has_policy``: somebody set one."""

    jobs: Sequence[JobReadiness]
    storages: Sequence[StorageReadiness]
    has_policy: bool


@dataclass
class _Snapshots:
    """Of one job, the newest of each kind: on its own storage, relocatable, on another storage."""

    newest: Snapshot | None = None
    relocatable: Snapshot | None = None
    elsewhere: Snapshot | None = None


def fleet_readiness(now: datetime) -> FleetReadiness:
    running = list(
        JobCurrent.objects.newest_attempts()
        .exclude(OVER)
        .only(*_JOB)
        .order_by("cluster", "name", "id")
    )
    storages = {(job.cluster, job.job_id): _storage(job.last_completed_path) for job in running}
    snapshots = _snapshots(storages)
    replicas = {(copy.cluster, copy.job_id): copy for copy in Replica.objects.all()}
    settings, rates, jobs = Settings(as_plain()), copy_rates(now), []
    has_policy, triggered = False, _triggered(snapshots)
    for job in running:
        key = job.cluster, job.job_id
        limits = settings.limits(*key, job.name)
        has_policy |= bool(limits[fleet_policy.INTERVAL] or limits[fleet_policy.PAUSE])
        found, storage = snapshots.get(key, _Snapshots()), storages[key]
        copy = _copy(storage, replicas.get(key), found.elsewhere, triggered.get(key))
        age = age_ms(now, copy.recovery_point if copy else None)
        rate = rates.get(storage)
        jobs.append(
            JobReadiness(
                *key,
                name=job.name or job.job_id,
                storage=storage,
                state=_state(storage, copy, age, limits[BEHIND] * 1000),
                copy=copy,
                age_ms=age,
                allowed_ms=limits[BEHIND] * 1000,
                newest=found.newest,
                relocatable_age_ms=age_ms(
                    now, found.relocatable.written if found.relocatable else None
                ),
                move_ms=rate.duration_ms(found.newest.files, found.newest.size_bytes)
                if rate and found.newest
                else None,
                has_settings=bool(
                    job.checkpoint_interval_ms or (job.checkpoint_config or {}).get("mode")
                ),
                broken=_broken(job, limits),
            )
        )
    jobs.sort(key=lambda job: (WORST_FIRST.index(job.state), -(job.age_ms or 0)))
    return FleetReadiness(jobs, _by_storage(jobs, rates), has_policy)


def _snapshots(storages: Mapping[Key, str]) -> dict[Key, _Snapshots]:
    whole = CheckpointStorage.objects.filter(
        audit__in=latest_audits(), missing_files=0, resolvable=True, checkpoint_id__isnull=False
    )
    by_job: dict[Key, _Snapshots] = {}
    rows = whole.exclude(cluster="").order_by("checkpoint_id", "modified", "id").values(*_SNAPSHOT)
    for row in rows.iterator(ROWS_AT_ONCE):
        key = row["cluster"], row["job_id"]
        if key not in storages:
            continue
        snapshot = _snapshot(row)
        found = by_job.setdefault(key, _Snapshots())
        if snapshot.relocatable:
            found.relocatable = snapshot
        if snapshot.storage == (storages[key] or snapshot.storage):
            found.newest = snapshot
        elif snapshot.self_contained:
            found.elsewhere = snapshot
    return by_job


def _triggered(snapshots: Mapping[Key, _Snapshots]) -> dict[Key, datetime]:
    wanted = {
        (*key, found.elsewhere.checkpoint_id): key
        for key, found in snapshots.items()
        if found.elsewhere
    }
    facts = CheckpointFact.objects.filter(
        job_id__in={job_id for _cluster, job_id, _checkpoint in wanted},
        checkpoint_id__in={checkpoint for _cluster, _job_id, checkpoint in wanted},
    )
    rows = facts.values_list("cluster", "job_id", "checkpoint_id", "trigger_time")
    return {
        wanted[cluster, job_id, checkpoint]: at
        for cluster, job_id, checkpoint, at in rows
        if (cluster, job_id, checkpoint) in wanted
    }


def _snapshot(row: Mapping[str, Any]) -> Snapshot:
    path = row["metadata_path"]
    return Snapshot(
        path.removesuffix(f"/{NAME}"),
        storage_of(path),
        row["checkpoint_id"],
        row["modified"],
        row["is_savepoint"],
        row["files"] + 1,
        row["bytes"] + (row["metadata_bytes"] or 0),
        row["self_contained"],
        row["relocatable"],
    )


def _copy(
    storage: str,
    replica: Replica | None,
    elsewhere: Snapshot | None,
    triggered_at: datetime | None,
) -> Copy | None:
    """The newest on another storage; ``triggered_at``: of ``elsewhere``."""
    copies = []
    if replica and replica.checkpoint_id is not None:
        place = _storage(replica.destination)
        copies.append(Copy(replica.location, place, replica.triggered_at))
    if elsewhere:
        copies.append(
            Copy(elsewhere.location, elsewhere.storage, triggered_at or elsewhere.written)
        )
    return max(
        copies,
        key=lambda copy: (
            copy.storage != storage,
            copy.recovery_point is not None,
            copy.recovery_point,
        ),
        default=None,
    )


def _state(storage: str, copy: Copy | None, age_ms: float | None, allowed_ms: float) -> State:
    if copy is None:
        return "none"
    if copy.storage == storage:
        return "same_storage"
    if not storage or not copy.storage or age_ms is None:
        return "unknown"
    return "ready" if age_ms <= allowed_ms else "late"


def _broken(job: JobCurrent, limits: Limits) -> tuple[Breach, ...]:
    interval_ms = job.checkpoint_interval_ms
    pause_ms = (job.checkpoint_config or {}).get("min_pause_ms")
    return tuple(fleet_policy.breaches(interval_ms, pause_ms, limits)) if interval_ms else ()


def _storage(path: str | None) -> str:
    """ "" where none is known."""
    try:
        return storage_of(canonical(path, spellings())) if path else ""
    except BadUri:
        return ""


def _by_storage(
    jobs: Sequence[JobReadiness], rates: Mapping[str, CopyRate]
) -> list[StorageReadiness]:
    by_storage: dict[str, list[JobReadiness]] = {}
    for job in jobs:
        by_storage.setdefault(job.storage, []).append(job)
    storages = [
        StorageReadiness(
            name,
            len(of),
            sum(job.state == "ready" for job in of),
            len(known := [job.newest for job in of if job.newest]),
            sum(snapshot.files for snapshot in known),
            sum(snapshot.size_bytes for snapshot in known),
            rates.get(name),
        )
        for name, of in by_storage.items()
    ]
    return sorted(storages, key=lambda one: (-one.size_bytes, one.storage))
