"""How the full state of a job grows over its attempts. A restart or restore begins a new trend, as
does an attempt without state. An attempt that restored the state of the previous continues its
trend.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from spark_jobs.fold.older_facts import OlderFacts
from spark_jobs.fold.size_trend import size_trend
from webapp.checkpoints.models import CheckpointFact, SizeTrend
from webapp.fleet.attempts import began_at
from webapp.fleet.models import JobAnnotation, JobCurrent
from webapp.lib.instants import epoch_ms, instant_of
from webapp.lib.samples import in_ms

MOST_CHECKPOINTS = 2_000
"""The newest are read; the trend is a line through 60 of them."""
MOST_CHANGES = 500
_COLUMNS = (
    "job_id",
    "checkpoint_id",
    "trigger_time",
    "end_time",
    "state_bytes",
    "checkpointed_bytes",
    "as_of",
)
_CUTS = ("restart", "restore")


def trend_of(
    job: JobCurrent, attempts: Sequence[JobCurrent] = (), until: datetime | None = None
) -> SizeTrend | None:
    """The job's row; with other ``attempts``, an unsaved row over all, up to ``until``."""
    if not attempts:
        return SizeTrend.objects.filter(**job.identity).first()
    attempts_by_id = {attempt.job_id: attempt for attempt in (job, *attempts)}
    completed = CheckpointFact.objects.filter(
        cluster=job.cluster, job_id__in=attempts_by_id, outcome="completed"
    ).exclude(is_savepoint=True)
    changes = JobAnnotation.objects.filter(
        cluster=job.cluster, job_id__in=attempts_by_id, kind__in=_CUTS
    )
    if until is not None:
        completed = completed.filter(trigger_time__lte=until)
        changes = changes.filter(at__lte=until)
    rows = [
        row | {"outcome": "completed", "is_savepoint": False}
        for row in completed.order_by("-trigger_time", "-id").values(*_COLUMNS)[:MOST_CHECKPOINTS]
    ]
    annotations = list(changes.order_by("-at").values_list("job_id", "kind", "at")[:MOST_CHANGES])
    trend = size_trend(map(in_ms, rows), _cuts(attempts_by_id, rows, annotations), OlderFacts())
    return SizeTrend(**job.identity, **_instants(trend)) if trend else None


def _cuts(
    attempts_by_id: dict[str, JobCurrent],
    rows: Sequence[dict[str, Any]],
    annotations: Sequence[tuple[str, str, datetime]],
) -> Iterator[dict[str, Any]]:
    # ``rows``: newest first.
    first_triggers: dict[str, datetime] = {row["job_id"]: row["trigger_time"] for row in rows}
    restored = set()
    for job_id, kind, at in annotations:
        if job_id in first_triggers and at <= first_triggers[job_id]:
            if kind == "restore":
                restored.add(job_id)
        else:
            yield {"kind": kind, "at": epoch_ms(at)}
    for job_id in first_triggers.keys() - restored:
        yield {
            "kind": "restart",
            "at": epoch_ms(began_at(attempts_by_id[job_id]) or first_triggers[job_id]),
        }


def _instants(bounds: dict[str, Any]) -> dict[str, Any]:
    return bounds | {
        name: None if bounds[name] is None else instant_of(bounds[name])
        for name in ("from_time", "to_time", "as_of")
    }
