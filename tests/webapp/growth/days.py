"""Daily roll-ups and audits of jobs, as the slow lane leaves them."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from webapp.checkpoints.models import CheckpointRollup
from webapp.fleet.models import JobCurrent
from webapp.storage.models import JobStorage, RootFigures, StorageAudit

NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
MIB = 1 << 20
COUNTS = dict.fromkeys(
    [
        f"{name}_count"
        for name in (
            "completed",
            "declined",
            "expired",
            "subsumed",
            "aborted",
            "failed",
            "preflight",
            "in_progress",
            "savepoint",
        )
    ],
    0,
)
VERDICTS = {
    f"{verdict}_{what}": 0
    for verdict in ("live", "retained_waste", "orphan", "recent", "kept", "missing")
    for what in ("files", "bytes")
}
MERGED = dict.fromkeys(("segmented_files", "segmented_file_bytes", "live_segment_bytes"), 0)


def day(number: int) -> datetime:
    """Midnight, so many days before the day of ``NOW``."""
    return datetime.combine(NOW.date(), time(), UTC) - timedelta(days=number)


def rolled(
    job: JobCurrent,
    sizes: Sequence[int | None],
    *,
    uploaded: int = MIB,
    p95_ms: Sequence[float] = (),
    ending: int = 0,
) -> None:
    """One row a day, the last one ``ending`` days ago."""
    CheckpointRollup.objects.bulk_create(
        CheckpointRollup(
            cluster=job.cluster,
            job_id=job.job_id,
            period="day",
            period_start=day(len(sizes) - 1 - place + ending),
            **COUNTS | {"completed_count": 100},
            state_bytes_last=size,
            checkpointed_bytes_sum=uploaded,
            end_to_end_p95_ms=p95_ms[place] if p95_ms else 4_000.0,
            as_of=NOW,
        )
        for place, size in enumerate(sizes)
    )


def audited(
    jobs: dict[JobCurrent, tuple[int, int, int]],
    ago: int = 0,
    root: str = "file:///data/flink",
    hour: int = 6,
) -> None:
    """Of each job: bytes, of them proven orphans, and too recent to say."""
    at = day(ago) + timedelta(hours=hour)
    audit = StorageAudit.objects.create(
        audit_id=f"audit-{ago}-{hour}-{root}", state="loaded", as_of=at, roots=[root]
    )
    sums = [sum(sizes) for sizes in zip(*jobs.values(), strict=True)]
    RootFigures.objects.create(
        audit=audit,
        root=root,
        as_of=at,
        files=3,
        bytes=sums[0],
        metadata_files=1,
        checkpoints=1,
        unlisted=0,
        doubts=0,
        cleanable=False,
        not_cleanable=[],
        **VERDICTS | {"orphan_bytes": sums[1], "recent_bytes": sums[2]},
    )
    JobStorage.objects.bulk_create(
        JobStorage(
            audit=audit,
            directory=f"{root}/{job.job_id}",
            root=root,
            cluster=job.cluster,
            job_id=job.job_id,
            files=3,
            bytes=size,
            small_files=0,
            foreign_files=0,
            foreign_bytes=0,
            checkpoints=1,
            **VERDICTS | {"orphan_bytes": orphan, "recent_bytes": recent},
            **MERGED,
        )
        for job, (size, orphan, recent) in jobs.items()
    )
