"""Which jobs could continue if their checkpoint storage were lost, and what a move would cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.urls import reverse

from ingest.messages import message, plural
from ingest.metadata.files import NAME
from spark_jobs.diagnosis.rules.replication_lag import BEHIND
from spark_jobs.fold.rule_evaluation import Settings
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Advice,
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Inputs,
    Link,
    Note,
    NotKnown,
    Table,
    Verdict,
)
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.overrides import as_plain
from webapp.fleet.models import OVER, JobCurrent
from webapp.lib.storage_uris import canonical_or_none
from webapp.replication.models import Replica
from webapp.replication.storages import CopyRate, copy_rates, storage_of
from webapp.storage.idle_snapshots import age_ms
from webapp.storage.models import CheckpointStorage
from webapp.storage.newest_audits import latest_audits

State = Literal["none", "same_storage", "late", "unknown", "ready"]
WORST_FIRST: Sequence[State] = ("none", "same_storage", "late", "unknown", "ready")
ROWS_AT_ONCE = 2_000
Key = tuple[str, str]
_JOB = ("cluster", "job_id", "name", "last_completed_path")
_SNAPSHOT = (
    "cluster",
    "job_id",
    "checkpoint_id",
    "metadata_path",
    "metadata_bytes",
    "modified",
    "files",
    "bytes",
    "missing_files",
    "resolvable",
    "self_contained",
    "relocatable",
)


@dataclass(frozen=True)
class Snapshot:
    """A snapshot that the newest audit found complete. ``files`` and ``size_bytes`` include its
    ``_metadata`` and files of other jobs. ``self_contained``: it needs no file of another job.
    ``relocatable``: its paths are relative, so that any tool can copy it.
    """

    location: str
    storage: str
    checkpoint_id: int
    written: datetime | None
    files: int
    size_bytes: int
    self_contained: bool
    relocatable: bool


@dataclass(frozen=True)
class Copy:
    """A complete copy. Input after its ``recovery_point`` would be lost; None if unknown."""

    location: str
    storage: str
    recovery_point: datetime | None


@dataclass(frozen=True)
class JobReadiness:
    """``copy``: the newest copy on another storage, else on the same; ``age_ms``, ``allowed_ms``:
    of its recovery point. ``newest``: the snapshot to move, in ``move_ms`` at the rate of its
    storage. ``relocatable_age_ms``: of the newest relocatable snapshot.
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


@dataclass(frozen=True)
class StorageReadiness:
    """``known`` jobs on one storage have a newest snapshot; its figures are summed."""

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
    """``jobs`` that have not ended, worst first."""

    jobs: Sequence[JobReadiness]
    storages: Sequence[StorageReadiness]


@dataclass
class _JobSnapshots:
    """The newest snapshot of each sort; ``elsewhere``: self-contained on another storage."""

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
    storages = {job.key: _storage(job.last_completed_path) for job in running}
    snapshots = _snapshots(storages)
    replicas = {(copy.cluster, copy.job_id): copy for copy in Replica.objects.all()}
    settings, rates = Settings(as_plain()), copy_rates(now)
    trigger_times = _trigger_times(snapshots)
    jobs = []
    for job in running:
        key = job.cluster, job.job_id
        allowed_ms = settings.limits(*key, job.name)[BEHIND] * 1000
        choices, storage = snapshots.get(key, _JobSnapshots()), storages[key]
        copy = _copy(storage, replicas.get(key), choices.elsewhere, trigger_times.get(key))
        age = age_ms(now, copy.recovery_point if copy else None)
        rate = rates.get(storage)
        jobs.append(
            JobReadiness(
                *key,
                name=job.name or job.job_id,
                storage=storage,
                state=_state(storage, copy, age, allowed_ms),
                copy=copy,
                age_ms=age,
                allowed_ms=allowed_ms,
                newest=choices.newest,
                relocatable_age_ms=age_ms(
                    now, choices.relocatable.written if choices.relocatable else None
                ),
                move_ms=rate.duration_ms(choices.newest.files, choices.newest.size_bytes)
                if rate and choices.newest
                else None,
            )
        )
    jobs.sort(key=lambda job: (WORST_FIRST.index(job.state), -(job.age_ms or 0)))
    return FleetReadiness(jobs, _by_storage(jobs, rates))


def _snapshots(storages: Mapping[Key, str]) -> dict[Key, _JobSnapshots]:
    complete = CheckpointStorage.objects.filter(
        audit__in=latest_audits(), missing_files=0, resolvable=True, checkpoint_id__isnull=False
    )
    by_job: dict[Key, _JobSnapshots] = {}
    rows = (
        complete.exclude(cluster="").order_by("checkpoint_id", "modified", "id").values(*_SNAPSHOT)
    )
    for row in rows.iterator(ROWS_AT_ONCE):
        key = row["cluster"], row["job_id"]
        if key not in storages:
            continue
        snapshot = _snapshot(row)
        choices = by_job.setdefault(key, _JobSnapshots())
        if snapshot.relocatable:
            choices.relocatable = snapshot
        if snapshot.storage == (storages[key] or snapshot.storage):
            choices.newest = snapshot
        elif snapshot.self_contained:
            choices.elsewhere = snapshot
    return by_job


def _trigger_times(snapshots: Mapping[Key, _JobSnapshots]) -> dict[Key, datetime]:
    """When the snapshots ``elsewhere`` were triggered."""
    keys = {
        (*key, choices.elsewhere.checkpoint_id): key
        for key, choices in snapshots.items()
        if choices.elsewhere
    }
    facts = CheckpointFact.objects.filter(
        job_id__in={job_id for _cluster, job_id, _checkpoint in keys},
        checkpoint_id__in={checkpoint for _cluster, _job_id, checkpoint in keys},
    )
    rows = facts.values_list("cluster", "job_id", "checkpoint_id", "trigger_time")
    return {
        keys[cluster, job_id, checkpoint]: at
        for cluster, job_id, checkpoint, at in rows
        if (cluster, job_id, checkpoint) in keys
    }


def _snapshot(row: Mapping[str, Any]) -> Snapshot:
    path = row["metadata_path"]
    return Snapshot(
        path.removesuffix(f"/{NAME}"),
        storage_of(path),
        row["checkpoint_id"],
        row["modified"],
        row["files"] + 1,
        row["bytes"] + (row["metadata_bytes"] or 0),
        row["self_contained"],
        row["relocatable"],
    )


def _copy(
    storage: str, replica: Replica | None, elsewhere: Snapshot | None, triggered_at: datetime | None
) -> Copy | None:
    """The newest copy, on another storage if possible. ``triggered_at``: trigger of ``elsewhere``."""
    copies = []
    if replica and replica.checkpoint_id is not None:
        destination = _storage(replica.destination)
        copies.append(Copy(replica.location, destination, replica.triggered_at))
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


def _storage(path: str | None) -> str:
    """The storage of a path, "" if unknown."""
    uri = canonical_or_none(path)
    return storage_of(uri) if uri else ""


def _by_storage(
    jobs: Sequence[JobReadiness], rates: Mapping[str, CopyRate]
) -> list[StorageReadiness]:
    by_storage: dict[str, list[JobReadiness]] = {}
    for job in jobs:
        by_storage.setdefault(job.storage, []).append(job)
    storages = []
    for name, group in by_storage.items():
        snapshots = [job.newest for job in group if job.newest]
        storages.append(
            StorageReadiness(
                name,
                len(group),
                sum(job.state == "ready" for job in group),
                len(snapshots),
                sum(snapshot.files for snapshot in snapshots),
                sum(snapshot.size_bytes for snapshot in snapshots),
                rates.get(name),
            )
        )
    return sorted(storages, key=lambda storage: (-storage.size_bytes, storage.storage))


MOST_JOBS, ADVISED = 1_000, 5
STATES: Mapping[State, str] = {
    "none": message("no copy elsewhere"),
    "same_storage": message("copy on the same storage"),
    "late": message("copy too old"),
    "unknown": message("Not known"),
    "ready": message("ready"),
}


@analysis(
    "readiness",
    subject="fleet",
    title="Readiness for a lost site",
    summary=(
        "which jobs have a complete copy on another storage, how old it is, and what a move of the "
        "others would cost"
    ),
    is_slow=True,
)
def readiness(inputs: Inputs) -> Document:
    fleet = fleet_readiness(inputs.now)
    if not fleet.jobs:
        return Document(Verdict("unknown", "No job is running."))
    blocks: tuple[Block, ...] = (
        _facts(fleet),
        *_unknowns(fleet),
        _jobs(fleet.jobs),
        _storages(fleet.storages),
        *_advice(fleet),
        NOTE,
    )
    return Document(_verdict(fleet.jobs), blocks)


def _verdict(jobs: Sequence[JobReadiness]) -> Verdict:
    if lacking := sum(job.state in ("none", "same_storage", "late") for job in jobs):
        return Verdict(
            "warn",
            plural(
                lacking,
                "{lacking:count} of {jobs:count} jobs has no complete and recent copy on another storage.",
                "{lacking:count} of {jobs:count} jobs have no complete and recent copy on another "
                "storage.",
                lacking=lacking,
                jobs=len(jobs),
            ),
        )
    if unknown := sum(job.state == "unknown" for job in jobs):
        return Verdict(
            "unknown",
            plural(
                unknown,
                "Whether {count:count} job has a copy on another storage is not known.",
                "Whether {count:count} jobs have a copy on another storage is not known.",
            ),
        )
    oldest_ms = max(job.age_ms or 0 for job in jobs)
    return Verdict(
        "ok",
        message(
            "Each job has a complete copy on another storage; the oldest recovery point is "
            "{oldest_ms:duration} old.",
            oldest_ms=oldest_ms,
        ),
    )


def _facts(fleet: FleetReadiness) -> Facts:
    jobs = fleet.jobs
    return Facts(
        (
            Fact("jobs", "Jobs", len(jobs), "count"),
            *(
                Fact(state, name, sum(job.state == state for job in jobs), "count")
                for state, name in STATES.items()
            ),
            Fact(
                "oldest_ms",
                "Oldest recovery point",
                max(
                    (job.age_ms for job in jobs if job.age_ms and job.state in ("late", "ready")),
                    default=None,
                ),
                "ms",
                "of the copies on another storage: at most this much would be lost",
            ),
        )
    )


def _unknowns(fleet: FleetReadiness) -> Iterator[NotKnown]:
    if unseen := sum(job.newest is None for job in fleet.jobs):
        yield NotKnown(
            plural(
                unseen,
                "What a move of {count:count} job takes is not known: no audit found a whole "
                "snapshot in a directory that is its alone.",
                "What a move of {count:count} jobs takes is not known: no audit found a whole "
                "snapshot in directories that are theirs alone.",
            )
        )
    if unmeasured := [
        storage.storage for storage in fleet.storages if storage.storage and not storage.rate
    ]:
        yield NotKnown(
            message(
                "How fast checkpoints are copied off {storages:names} was not measured in the last "
                "30 days: copy one job from there (manage.py replicate).",
                storages=unmeasured,
            )
        )


def _jobs(jobs: Sequence[JobReadiness]) -> Table:
    of_newest = message("of its newest whole snapshot")
    return Table.of(
        jobs,
        "jobs",
        "Jobs",
        (
            Column(
                "job",
                "Job",
                value=lambda job: Link(
                    job.name, reverse("replication", args=(job.cluster, job.job_id))
                ),
            ),
            Column("cluster", "Cluster"),
            Column("storage", "Storage", "mono", value=lambda job: job.storage or None),
            Column("state", "State", value=lambda job: STATES[job.state]),
            Column("age_ms", "Recovery point", "ms", "its age, of the copy"),
            Column("allowed_ms", "Allowed", "ms", "threshold of replication.lag"),
            Column("copy", "Copy", "mono", value="copy.location"),
            Column("files", "Files", "count", of_newest, "newest.files"),
            Column("bytes", "Bytes", "bytes", of_newest, "newest.size_bytes"),
            Column("move_ms", "Copy takes", "ms", "at the rate of its storage"),
            Column(
                "self_contained",
                "Self-contained",
                "flag",
                "it needs no file of another job",
                "newest.self_contained",
            ),
            Column(
                "relocatable_ms",
                "Relocatable snapshot",
                "ms",
                (
                    "how old the newest snapshot is whose paths are relative: a canonical or native "
                    "savepoint, or a checkpoint without files of earlier ones. Any tool may copy it."
                ),
                "relocatable_age_ms",
            ),
        ),
        most=MOST_JOBS,
        subtitle="worst first",
    )


def _storages(storages: Sequence[StorageReadiness]) -> Table:
    return Table.of(
        storages,
        "storages",
        "Storages",
        (
            Column("storage", "Storage", "mono", value=lambda storage: storage.storage or None),
            Column("jobs", "Jobs", "count"),
            Column("ready", "Ready", "count"),
            Column("known", "Counted", "count", "jobs whose snapshot is known"),
            Column("files", "Files", "count"),
            Column("bytes", "Bytes", "bytes", value="size_bytes"),
            Column(
                "bytes_per_s",
                "Bytes a second",
                "bytes",
                "as measured",
                "rate.bytes_per_s",
            ),
            Column("move_ms", "Copy takes", "ms", "one job after the other"),
        ),
        subtitle="most bytes to move first",
    )


def _advice(fleet: FleetReadiness) -> Iterator[Advice]:
    lacking = [job for job in fleet.jobs if job.state in ("none", "same_storage")]
    lacking.sort(key=lambda job: -(job.newest.size_bytes if job.newest else 0))
    if lacking:
        yield Advice(
            tuple(
                message(
                    "manage.py replicate {cluster:name} {job_id:name} DESTINATION",
                    cluster=job.cluster,
                    job_id=job.job_id,
                )
                for job in lacking[:ADVISED]
            ),
            "Copy these to a storage of another site",
        )


NOTE = Note(
    "Another storage is another scheme, address or bucket. Whether it is at another site is "
    "not known here. A copy is as its last round left it, a snapshot as the newest audit "
    "found it. What the jobs read and write elsewhere, such as topics, is not part of it."
)
