"""Daily roll-ups of jobs, as the slow lane leaves them."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from webapp.checkpoints.models import CheckpointRollup
from webapp.fleet.models import JobCurrent

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
