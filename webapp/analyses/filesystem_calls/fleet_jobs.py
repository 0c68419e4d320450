"""Jobs and their checkpoints in the newest ten minutes: when, how long, into which file system."""

import re
import statistics
from dataclasses import dataclass
from datetime import datetime, timedelta
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
class TakenCheckpoint:
    trigger_time: datetime
    duration_s: float


@dataclass(frozen=True)
class FleetJob:
    """``file_system``: scheme and authority of checkpoints, "" if unknown. ``files``, ``calls``: of
    one checkpoint, None if no audit counted.
    """

    cluster: str
    job_id: str
    name: str
    file_system: str
    files: float | None
    calls: float | None
    checkpoints: tuple[TakenCheckpoint, ...]


class FleetJobs(NamedTuple):
    """``end`` of the ten minutes. ``left_out``: as in ``FleetCalls``."""

    end: datetime
    jobs: list[FleetJob]
    left_out: int


def fleet_jobs(now: datetime) -> FleetJobs:
    """Jobs with most checkpoints in the ten minutes up to the newest trigger before ``now``."""
    checkpoints = CheckpointFact.objects.exclude(is_savepoint=True).filter(trigger_time__lte=now)
    newest = checkpoints.order_by("-trigger_time").values_list("trigger_time", flat=True).first()
    if newest is None:
        return FleetJobs(now, [], 0)
    in_window = checkpoints.filter(trigger_time__gt=newest - WINDOW)
    busiest = (
        in_window.values_list("cluster", "job_id")
        .annotate(taken=Count("id"))
        .order_by("-taken", "cluster", "job_id")
    )
    job_keys, facts_left = [], MOST_FACTS
    for cluster, job_id, count in busiest[:MOST_JOBS]:
        facts_left -= count
        if facts_left >= 0:
            job_keys.append((cluster, job_id))
    job_ids = [job_id for _cluster, job_id in job_keys]
    facts: dict[tuple[str, str], list[tuple[datetime, int | None, str]]] = {
        key: [] for key in job_keys
    }
    rows = in_window.filter(job_id__in=job_ids).values_list(
        "cluster", "job_id", "trigger_time", "end_to_end_ms", "external_path"
    )
    rows = rows.order_by("trigger_time", "id")
    for cluster, job_id, trigger, duration_ms, path in rows.iterator(2_000):
        if (cluster, job_id) in facts:
            facts[cluster, job_id].append((trigger, duration_ms, path or ""))
    current = JobCurrent.objects.filter(job_id__in=job_ids).only("cluster", "job_id", "name")
    current_jobs: dict[tuple[str, str], JobCurrent] = {job.key: job for job in current}
    files = files_by_directory(
        CheckpointStorage.objects.filter(audit__in=latest_audits(), job_id__in=job_ids)
    )
    jobs = [_job(key, facts[key], current_jobs.get(key), files) for key in job_keys]
    return FleetJobs(newest, jobs, busiest.count() - len(jobs))


def _job(
    key: tuple[str, str],
    facts: list[tuple[datetime, int | None, str]],
    job: JobCurrent | None,
    file_counts: dict[str, float],
) -> FleetJob:
    durations_ms = [duration for _trigger, duration, _path in facts if duration]
    usual_ms = statistics.median(durations_ms) if durations_ms else 1_000
    checkpoints = tuple(
        TakenCheckpoint(trigger, (duration or usual_ms) / 1000)
        for trigger, duration, _path in sorted(facts)
    )
    path = next(
        (path for _trigger, _duration, path in reversed(facts) if _CHECKPOINT.search(path)), ""
    )
    files = file_counts.get(owner_directory(address_of(path).removesuffix(f"/{NAME}")))
    return FleetJob(
        *key,
        (job and job.name) or key[1],
        file_system_of(path),
        files,
        None if files is None else calls_of_files(files),
        checkpoints,
    )


def file_system_of(path: str) -> str:
    """The scheme and authority of a URI; "" if it has no scheme."""
    parts = urlsplit(path)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme else ""
