"""One job as a report describes it: what it is, how its checkpoints fared, what was said and
thrown.

About thirty queries.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from webapp.analyses.starts.job_starts import job_starts
from webapp.checkpoints.flink_counters import Counts, counters_of
from webapp.checkpoints.outages import outages
from webapp.fleet.models import JobCurrent
from webapp.reports import texts
from webapp.reports.document import JobStory, Moment, ReportedCounters, StoragePlace
from webapp.reports.gathering import (
    checkpoint_figures,
    events,
    missing_files,
    pressure,
    starts,
    timeline,
    work_tables,
)
from webapp.reports.gathering.checkpoint_figures import Outline
from webapp.reports.gathering.events import MarksOfTime
from webapp.reports.gathering.scope import ReportScope
from webapp.reports.gathering.timeline import most_important
from webapp.storage.models import JobStorage
from webapp.storage.newest_audits import latest_audits
from webapp.storage.replication_factor import NONE, factors_by_uri

MOST_PLACES = 20
MOST_SETTINGS = 120


@dataclass(frozen=True)
class GatheredJob:
    """The story, its ``moments`` for the time line (the most important ones), and the first and
    last signs of trouble.

    ``checkpoints`` counts those that were looked at; ``events_cut`` says that the log held more
    than is looked at; ``marks`` of how many those of the story are the newest.
    """

    story: JobStory
    moments: tuple[Moment, ...]
    signs: tuple[datetime, ...]
    checkpoints: int
    events_cut: bool
    marks: MarksOfTime


def of_job(
    job: JobCurrent, scope: ReportScope, now: datetime, recordings: Collection[str]
) -> GatheredJob:
    is_recording = job.cluster in recordings
    seen = checkpoint_figures.outlines(job, scope)
    one_by_one = checkpoint_figures.kept_one_by_one(scope, now, is_recording=is_recording)
    marks = events.marks(job, scope)
    excerpts, events_cut = events.excerpts(job, scope)
    of_starts = job_starts(job, scope.start, scope.end)
    uploads = [
        outline.checkpointed_bytes
        for outline in seen
        if outline.outcome == "completed" and outline.checkpointed_bytes is not None
    ]
    story = JobStory(
        cluster=job.cluster,
        job_id=job.job_id,
        first_attempt_id=job.first_attempt_id,
        name=texts.name(job.name, job.job_id),
        state=job.state or "",
        flink_version=texts.name(job.flink_version),
        parallelism=job.parallelism,
        started_at=job.start_time,
        ended_at=job.end_time,
        last_seen_at=job.last_seen_at,
        judged_at=job.judged_at,
        is_recording=is_recording,
        restarts=_restarts(job, scope, marks),
        restored_from=_restored_from(job),
        checkpoints=checkpoint_figures.figures(job, scope, seen, kept_one_by_one=one_by_one),
        uploaded_bytes=sum(uploads) if uploads and one_by_one else None,
        counters=_counters(job),
        outages=outages(job, scope.start, scope.end),
        starts=starts.rows(of_starts),
        missing_files=missing_files.rows(job, scope),
        tables=tuple(work_tables.tables(job, scope, now)),
        points=checkpoint_figures.points(seen, scope.points_a_job),
        marks=marks.marks,
        pressure=pressure.rows(job, scope),
        storage=_storage(job),
        configuration=_configuration(job),
        logs=excerpts,
        exceptions=events.exceptions(job, scope),
    )
    return GatheredJob(
        story,
        most_important(timeline.of_job(story, seen)),
        _signs(marks, seen),
        len(seen),
        events_cut,
        marks,
    )


def _restarts(job: JobCurrent, scope: ReportScope, marks: MarksOfTime) -> int:
    """Those with a mark in the time; of an attempt that lived within it at least as many as Flink
    counted: without its log, restarts between two readings have no mark.
    """
    began, seen = job.start_time, job.last_seen_at
    lived_within = began and seen and scope.start <= began and seen <= scope.end
    return max(marks.restarts, (job.restarts or 0) if lived_within else 0)


def _signs(marks: MarksOfTime, seen: Sequence[Outline]) -> tuple[datetime, ...]:
    """Failed checkpoints, restarts and failures: the first and the last of them."""
    signs = [*(outline.ended_at for outline in seen if outline.failed), *marks.signs]
    return (min(signs), max(signs)) if signs else ()


def _counters(job: JobCurrent) -> ReportedCounters | None:
    """Where they differ; Flink's are of the whole life of the job."""
    counters = counters_of(job)
    if counters is None or counters.weir is None or not counters.why:
        return None
    return ReportedCounters(
        counters.at, _known(counters.flink), _known(counters.weir), counters.why
    )


def _known(counts: Counts) -> tuple[tuple[str, int], ...]:
    return tuple((name, count) for name, count in asdict(counts).items() if count is not None)


def _restored_from(job: JobCurrent) -> str:
    if job.restored_at is None:
        return ""
    number = "" if job.restored_checkpoint_id is None else f" {job.restored_checkpoint_id}"
    return f"{job.restored_kind}{number}, {texts.bounded(job.restored_path)}".rstrip(", ")


def _configuration(job: JobCurrent) -> tuple[tuple[str, str], ...]:
    """Checkpointing first, then the cluster's settings; secrets masked."""
    options = [*(job.checkpoint_config or {}).items(), *(job.configuration or {}).items()]
    return tuple(texts.setting(key, value) for key, value in options[:MOST_SETTINGS])


def _storage(job: JobCurrent) -> tuple[StoragePlace, ...]:
    storage = JobStorage.objects.filter(
        cluster=job.cluster, job_id=job.job_id, audit_id__in=latest_audits()
    ).select_related("audit")
    rows = list(storage.order_by("-bytes", "root")[:MOST_PLACES])
    factors = factors_by_uri(row.root for row in rows)
    return tuple(
        StoragePlace(
            root=texts.bounded(row.root),
            as_of=row.audit.as_of,
            files=row.files,
            bytes=row.bytes,
            live_bytes=row.live_bytes,
            retained_waste_bytes=row.retained_waste_bytes,
            orphan_bytes=row.orphan_bytes,
            missing_files=row.missing_files,
            raw_bytes=factors.get(row.root, NONE).raw(row.bytes)
            if row.raw_bytes is None
            else row.raw_bytes,
        )
        for row in rows
    )
