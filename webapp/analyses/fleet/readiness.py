"""Which jobs could go on if the storage of their checkpoints were lost, what a move would cost, and
whose checkpoint settings are below the fleet's policy.
"""

from collections.abc import Iterator, Mapping, Sequence

from django.urls import reverse

from ingest.messages import message, plural
from webapp.analyses.declaration import fleet_analysis
from webapp.analyses.document import (
    Advice,
    Asked,
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Link,
    Note,
    NotKnown,
    Table,
    Value,
    Verdict,
)
from webapp.analyses.readiness.fleet_readiness import (
    FleetReadiness,
    JobReadiness,
    State,
    StorageReadiness,
    fleet_readiness,
)

MOST_JOBS, ADVISED = 1_000, 5
STATES: Mapping[State, str] = {
    "none": message("no copy elsewhere"),
    "same_storage": message("copy on the same storage"),
    "late": message("copy too old"),
    "unknown": message("Not known"),
    "ready": message("ready"),
}
JOB = Column("job", message("Job"))
CLUSTER = Column("cluster", message("Cluster"))
STORAGE = Column("storage", message("Storage"), "mono")
BYTES, FILES = (
    Column("bytes", message("Bytes"), "bytes"),
    Column("files", message("Files"), "count"),
)


@fleet_analysis(
    "readiness",
    title=message("Readiness for a lost site"),
    summary=message(
        "which jobs have a complete copy on another storage, how old it is, what a move of the "
        "others would cost, and whose checkpoints are below the fleet's minimum"
    ),
    is_slow=True,
)
def readiness(asked: Asked) -> Document:
    fleet = fleet_readiness(asked.now)
    if not fleet.jobs:
        return Document(Verdict("unknown", message("No job is running.")))
    blocks: list[Block] = [_facts(fleet), *_unknown(fleet)]
    blocks += [_jobs(fleet.jobs), _storages(fleet.storages), *_policy(fleet), *_advice(fleet)]
    return Document(_verdict(fleet.jobs), (*blocks, _note()))


def _verdict(jobs: Sequence[JobReadiness]) -> Verdict:
    if lacking := sum(job.state in ("none", "same_storage", "late") for job in jobs):
        some = plural(
            lacking,
            "{lacking:count} of {jobs:count} jobs has no complete and recent copy on another storage.",
            "{lacking:count} of {jobs:count} jobs have no complete and recent copy on another "
            "storage.",
            lacking=lacking,
            jobs=len(jobs),
        )
        return Verdict("warn", some)
    if unknown := sum(job.state == "unknown" for job in jobs):
        some = plural(
            unknown,
            "Whether {count:count} job has a copy on another storage is not known.",
            "Whether {count:count} jobs have a copy on another storage is not known.",
        )
        return Verdict("unknown", some)
    oldest_ms = max(job.age_ms or 0 for job in jobs)
    every = message(
        "Each job has a complete copy on another storage; the oldest recovery point is "
        "{oldest_ms:duration} old.",
        oldest_ms=oldest_ms,
    )
    return Verdict("ok", every)


def _facts(fleet: FleetReadiness) -> Facts:
    jobs = fleet.jobs
    lost = message("of the copies on another storage: at most this much would be lost")
    return Facts(
        (
            Fact("jobs", message("Jobs"), len(jobs), "count"),
            *(
                Fact(state, name, sum(job.state == state for job in jobs), "count")
                for state, name in STATES.items()
            ),
            Fact(
                "oldest_ms",
                message("Oldest recovery point"),
                max((job.age_ms for job in jobs if job.age_ms and _is_away(job)), default=None),
                "ms",
                lost,
            ),
        )
    )


def _is_away(job: JobReadiness) -> bool:
    return job.state in ("late", "ready")


def _unknown(fleet: FleetReadiness) -> Iterator[NotKnown]:
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
    if unmeasured := [one.storage for one in fleet.storages if one.storage and not one.rate]:
        yield NotKnown(
            message(
                "How fast checkpoints are copied off {storages:names} was not measured in the last "
                "30 days: copy one job from there (manage.py replicate).",
                storages=unmeasured,
            )
        )


def _jobs(jobs: Sequence[JobReadiness]) -> Table:
    by_any_tool = message(
        "how old the newest snapshot is whose paths are relative: a canonical or native savepoint, "
        "or a checkpoint without files of earlier ones. Any tool may copy it."
    )
    return Table(
        "jobs",
        message("Jobs"),
        (
            JOB,
            CLUSTER,
            STORAGE,
            Column("state", message("State")),
            Column("age_ms", message("Recovery point"), "ms", message("its age, of the copy")),
            Column("allowed_ms", message("Allowed"), "ms", message("threshold of replication.lag")),
            Column("copy", message("Copy"), "mono"),
            Column("files", message("Files"), "count", message("of its newest whole snapshot")),
            BYTES,
            Column("move_ms", message("Copy takes"), "ms", message("at the rate of its storage")),
            Column(
                "self_contained",
                message("Self-contained"),
                "flag",
                message("it needs no file of another job"),
            ),
            Column(
                "relocatable", message("Relocatable"), "flag", message("its paths are relative")
            ),
            Column("relocatable_ms", message("Relocatable snapshot"), "ms", by_any_tool),
        ),
        tuple(_job(job) for job in jobs[:MOST_JOBS]),
        subtitle=message("worst first"),
        total=len(jobs) if len(jobs) > MOST_JOBS else None,
    )


def _job(job: JobReadiness) -> tuple[Value, ...]:
    newest = job.newest
    move: tuple[Value, ...] = (
        (
            newest.files,
            newest.size_bytes,
            job.move_ms,
            newest.self_contained,
            newest.relocatable,
            job.relocatable_age_ms,
        )
        if newest
        else (None,) * 6
    )
    return (
        _link(job),
        job.cluster,
        job.storage or None,
        STATES[job.state],
        job.age_ms,
        job.allowed_ms,
        job.copy.location if job.copy else None,
        *move,
    )


def _link(job: JobReadiness) -> Link:
    return Link(job.name, reverse("replication", args=(job.cluster, job.job_id)))


def _storages(storages: Sequence[StorageReadiness]) -> Table:
    return Table(
        "storages",
        message("Storages"),
        (
            STORAGE,
            Column("jobs", message("Jobs"), "count"),
            Column("ready", message("Ready"), "count"),
            Column("known", message("Counted"), "count", message("jobs whose snapshot is known")),
            FILES,
            BYTES,
            Column("bytes_per_s", message("Bytes a second"), "bytes", message("as measured")),
            Column("move_ms", message("Copy takes"), "ms", message("one job after the other")),
        ),
        tuple(
            (
                one.storage or None,
                one.jobs,
                one.ready,
                one.known,
                one.files,
                one.size_bytes,
                one.rate.bytes_per_s if one.rate else None,
                one.move_ms,
            )
            for one in storages
        ),
        subtitle=message("most bytes to move first"),
    )


def _policy(fleet: FleetReadiness) -> Iterator[Block]:
    if not fleet.has_policy:
        yield Note(
            message(
                "The fleet has no minimum checkpoint interval and no minimum pause. To set them, "
                "use the thresholds fleet_minimum_interval_s and fleet_minimum_pause_s of "
                "checkpoint.too_frequent."
            )
        )
        return
    if unseen := sum(not job.has_settings for job in fleet.jobs):
        yield NotKnown(
            plural(
                unseen,
                "The checkpoint settings of {count:count} job are not known.",
                "The checkpoint settings of {count:count} jobs are not known.",
            )
        )
    yield Table(
        "policy",
        message("Below the minimum of the fleet"),
        (
            JOB,
            CLUSTER,
            Column("option", message("Setting"), "mono"),
            Column("set_ms", message("As it is"), "ms"),
            Column("least_ms", message("At least"), "ms"),
        ),
        tuple(
            (_link(job), job.cluster, breach.option, breach.set_ms, breach.least_ms)
            for job in fleet.jobs
            for breach in job.broken
        ),
        empty=message("No job is below it."),
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
            message("Copy these to a storage of another site"),
        )


def _note() -> Note:
    return Note(
        message(
            "Another storage is another scheme, address or bucket. Whether it is at another site is "
            "not known here. A copy is as its last round left it, a snapshot as the newest audit "
            "found it. What the jobs read and write elsewhere, such as topics, is not part of it."
        )
    )
