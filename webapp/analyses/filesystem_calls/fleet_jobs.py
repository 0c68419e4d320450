"""Jobs with checkpoints in the newest minutes: when, how long, into which file system, with how
many files.
"""

import re
import statistics
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlsplit

from django.db.models import Count

from ingest.metadata.files import NAME
from ingest.metadata.owners import owner_directory
from spark_jobs.filesystem_calls.calls import calls_of_files
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.views import address_of
from webapp.fleet.models import JobCurrent
from webapp.storage.models import CheckpointStorage
from webapp.storage.newest_audits import latest_audits
from webapp.storage.written_files import files_by_directory

WINDOW = timedelta(minutes=10)
MOST_FACTS, MOST_JOBS = 100_000, 1_000
_CHECKPOINT = re.compile(r"/(?:[0-9a-f]{32}/)?chk-(\d+)(?:/_metadata)?/?$")


@dataclass(frozen=True)
class Taken:
    trigger_time: datetime
    duration_s: float


@dataclass(frozen=True)
class FleetJob:
    """``file_system``: scheme and authority of its checkpoints, "" if unknown. ``calls``: of one
    checkpoint, None if no audit counted its files. ``period_s``: None if it took only one.
    """

    cluster: str
    job_id: str
    name: str
    file_system: str
    files: float | None
    calls: float | None
    taken: tuple[Taken, ...]
    period_s: float | None

    @property
    def per_s(self) -> float | None:
        return self.calls / self.period_s if self.calls is not None and self.period_s else None


class FleetJobs(NamedTuple):
    """``end`` of these minutes. ``left_out``: the number of other jobs, with fewer checkpoints than
    each of ``jobs``.
    """

    end: datetime
    jobs: list[FleetJob]
    left_out: int


def fleet_jobs(now: datetime) -> FleetJobs:
    """Jobs with most checkpoints in the minutes up to the newest trigger before ``now``."""
    taken = CheckpointFact.objects.exclude(is_savepoint=True).filter(trigger_time__lte=now)
    newest = taken.order_by("-trigger_time").values_list("trigger_time", flat=True).first()
    if newest is None:
        return FleetJobs(now, [], 0)
    newest_taken = taken.filter(trigger_time__gt=newest - WINDOW)
    busiest = (
        newest_taken.values_list("cluster", "job_id")
        .annotate(taken=Count("id"))
        .order_by("-taken", "cluster", "job_id")
    )
    chosen, left = [], MOST_FACTS
    for cluster, job_id, count in busiest[:MOST_JOBS]:
        left -= count
        if left >= 0:
            chosen.append((cluster, job_id))
    job_ids = [job_id for _cluster, job_id in chosen]
    facts: dict[tuple[str, str], list[tuple[datetime, int | None, str]]] = {
        key: [] for key in chosen
    }
    rows = newest_taken.filter(job_id__in=job_ids).values_list(
        "cluster", "job_id", "trigger_time", "end_to_end_ms", "external_path"
    )
    for cluster, job_id, trigger, lasted_ms, path in rows.order_by("trigger_time", "id").iterator(
        2_000
    ):
        if (cluster, job_id) in facts:
            facts[cluster, job_id].append((trigger, lasted_ms, path or ""))
    current = JobCurrent.objects.filter(job_id__in=job_ids).only("cluster", "job_id", "name")
    known = {(job.cluster, job.job_id): job for job in current}
    files = files_by_directory(
        CheckpointStorage.objects.filter(audit__in=latest_audits(), job_id__in=job_ids)
    )
    jobs = [_job(key, facts[key], known.get(key), files) for key in chosen]
    return FleetJobs(newest, jobs, busiest.count() - len(jobs))


def _job(
    key: tuple[str, str],
    facts: list[tuple[datetime, int | None, str]],
    job: JobCurrent | None,
    counted: dict[str, float],
) -> FleetJob:
    lasted = [duration for _trigger, duration, _path in facts if duration]
    usual_ms = statistics.median(lasted) if lasted else 1_000
    taken = tuple(
        Taken(trigger, (duration or usual_ms) / 1000) for trigger, duration, _path in sorted(facts)
    )
    apart = [
        (later.trigger_time - earlier.trigger_time).total_seconds()
        for earlier, later in pairwise(taken)
    ]
    path = next(
        (path for _trigger, _duration, path in reversed(facts) if _CHECKPOINT.search(path)), ""
    )
    files = counted.get(owner_directory(address_of(path).removesuffix(f"/{NAME}")))
    return FleetJob(
        *key,
        (job and job.name) or key[1],
        file_system_of(path),
        files,
        None if files is None else calls_of_files(files),
        taken,
        statistics.median(apart) if apart else None,
    )


def file_system_of(path: str) -> str:
    parts = urlsplit(path) if path else None
    return f"{parts.scheme}://{parts.netloc}" if parts and parts.scheme else ""
