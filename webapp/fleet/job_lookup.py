from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone

from ingest.job_states import NOT_LISTED
from webapp.fleet.badges import job_badge
from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS, ClusterKind
from webapp.fleet.freshness import between_judgements, late_before
from webapp.fleet.models import Cluster, JobCurrent, RemovedCluster
from webapp.lib import timeranges
from webapp.lib.badges import Badge
from webapp.lib.instants import drawable
from webapp.lib.path_names import without_nul
from webapp.lib.timeranges import TimeRange

MARGIN = 0.03
LEAST_MARGIN = timedelta(seconds=3)


@dataclass(frozen=True)
class JobView:
    """``at``: now for a live job, else when the job was last seen. ``whole``: its whole life."""

    job: JobCurrent
    cluster: Cluster | None
    badge: Badge
    at: datetime
    now: datetime
    time_range: TimeRange
    whole: TimeRange
    removed: RemovedCluster | None = None

    @property
    def is_unknown(self) -> bool:
        return bool(self.job.status == UNKNOWN_STATUS)

    @property
    def is_late(self) -> bool:
        return self.job.judged_at is not None and self.job.judged_at < late_before(self.now)

    @property
    def is_unwatched(self) -> bool:
        """Whether the cluster was removed while the job ran."""
        return bool(self.job.status == UNWATCHED_STATUS)

    @property
    def is_not_listed(self) -> bool:
        return bool(self.job.status == NOT_LISTED)

    @property
    def is_recording(self) -> bool:
        return self.cluster is not None and self.cluster.kind == ClusterKind.RECORDING

    @property
    def end_of_life(self) -> datetime:
        """The end of the job, or when it was last seen."""
        return drawable(self.job.end_time) if self.job.end_time else self.at

    @property
    def shows_whole(self) -> bool:
        return (
            self.time_range.from_text == self.whole.from_text
            and self.time_range.to_text == self.whole.to_text
        )

    @property
    def range_query(self) -> str:
        """Query string of the chosen range; "" if none was chosen."""
        return self.time_range.query if self.time_range.chosen else ""

    @property
    def is_past(self) -> bool:
        return self.is_recording or self.is_unwatched or bool(self.job.is_over)

    @property
    def as_of(self) -> datetime | None:
        return as_of(self.job, self.now)


def look_up(request: HttpRequest, cluster: str, job_id: str) -> JobView:
    """By default, the range is the whole life of an ended or recorded job."""
    now = timezone.now()
    job = JobCurrent.objects.with_status(now).filter(cluster=cluster, job_id=job_id).first()
    if job is None:
        raise Http404(f"No job {job_id[:64]} was ever seen on a cluster called {cluster[:100]}.")
    registered = Cluster.objects.filter(name=cluster).first()
    is_unwatched = job.status == UNWATCHED_STATUS
    is_recording = registered is not None and registered.kind == ClusterKind.RECORDING
    is_past = job.is_over or is_unwatched or is_recording
    at = drawable(job.last_seen_at or job.as_of) if is_past else now
    whole = whole_life(job, at)
    time_range = timeranges.from_request(request, now, fallback=whole if is_past else None)
    removed = RemovedCluster.objects.filter(name=cluster).first() if is_unwatched else None
    return JobView(job, registered, job_badge(job.status), at, now, time_range, whole, removed)


def job_or_404(cluster: str, job_id: str) -> JobCurrent:
    return get_object_or_404(JobCurrent, cluster=without_nul(cluster), job_id=without_nul(job_id))


def vertex_or_404(job: JobCurrent, vertex_id: str) -> dict[str, Any]:
    """Id, name and parallelism of the vertex."""
    vertex = job.vertices.get(vertex_id)
    if vertex is None:
        raise Http404(f"The plan of this job has no vertex {vertex_id[:64]}.")
    return {
        "vertex_id": vertex_id,
        "name": str(vertex.get("name") or vertex_id),
        "parallelism": vertex.get("parallelism"),
    }


def as_of(job: JobCurrent, now: datetime) -> datetime | None:
    """The instant of the job's newest data if its judgement is not current, else None."""
    if job.judged_at is None or job.judged_at >= now - between_judgements():
        return None
    # A checkpoint may be loaded later than the judgement.
    return max(filter(None, (job.judged_at, job.last_completed_at)))


def whole_life(job: JobCurrent, at: datetime) -> TimeRange:
    end = drawable(max(filter(None, (job.end_time, job.last_seen_at, job.as_of)), default=at))
    start = min(drawable(job.start_time or job.first_seen_at or end), end)
    # A History Server shows a job long after its end.
    if job.end_time and drawable(job.end_time) >= start:
        end = drawable(job.end_time)
    margin = max((end - start) * MARGIN, LEAST_MARGIN)
    return timeranges.around(start, end, margin, chosen=False)
